import { expect, test } from "vitest";
import { type FailedAttempt, retryDelayMs } from "./retry.ts";

const failed: FailedAttempt = { attempt: 1, idempotent: false, status: 0, remainingMs: 20_000 };

test.each<{ what: string; attempt: Partial<FailedAttempt>; repeated: boolean }>([
  { what: "429", attempt: { status: 429 }, repeated: true },
  { what: "503 of a create", attempt: { status: 503 }, repeated: false },
  { what: "503 of a read", attempt: { status: 503, idempotent: true }, repeated: true },
  { what: "500", attempt: { status: 500, idempotent: true }, repeated: false },
  { what: "409", attempt: { status: 409, idempotent: true }, repeated: false },
  { what: "200", attempt: { status: 200, idempotent: true }, repeated: false },
  { what: "a refused connection", attempt: { code: "ECONNREFUSED" }, repeated: true },
  { what: "a broken create", attempt: { code: "ECONNRESET" }, repeated: false },
  { what: "a broken read", attempt: { code: "ECONNRESET", idempotent: true }, repeated: true },
  {
    what: "an expired certificate",
    attempt: { code: "CERT_HAS_EXPIRED", idempotent: true },
    repeated: false,
  },
  { what: "the fifth attempt", attempt: { status: 429, attempt: 5 }, repeated: false },
  { what: "a wait beyond the deadline", attempt: { status: 429, retryAfterMs: 20_000 }, repeated: false },
])("$what is repeated: $repeated", ({ attempt, repeated }) => {
  expect(retryDelayMs({ ...failed, ...attempt }) !== undefined).toBe(repeated);
});

test("the wait grows with the attempts and starts after Retry-After", () => {
  const waits = [1, 2, 3, 4].map((attempt) => retryDelayMs({ ...failed, attempt, status: 429 }, () => 1));
  expect(waits).toEqual([100, 200, 400, 800]);
  expect(retryDelayMs({ ...failed, status: 429, retryAfterMs: 1_000 }, () => 0)).toBe(1_000);
});
