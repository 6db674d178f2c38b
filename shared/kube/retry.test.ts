import { expect, test } from "vitest";
import { type FailedAttempt, retryDelayMs } from "./call.ts";

const failed: FailedAttempt = { attempt: 1, idempotent: false, status: 0, remainingMs: 20_000 };

const networkError = (code: string) => Object.assign(new Error("failed"), { code });

test.each<{ what: string; attempt: Partial<FailedAttempt>; retried: boolean }>([
  { what: "429", attempt: { status: 429 }, retried: true },
  { what: "503 of a create", attempt: { status: 503 }, retried: false },
  { what: "503 of a read", attempt: { status: 503, idempotent: true }, retried: true },
  { what: "500", attempt: { status: 500, idempotent: true }, retried: false },
  { what: "409", attempt: { status: 409, idempotent: true }, retried: false },
  { what: "200", attempt: { status: 200, idempotent: true }, retried: false },
  { what: "a refused connection", attempt: { error: networkError("ECONNREFUSED") }, retried: true },
  { what: "a broken create", attempt: { error: networkError("ECONNRESET") }, retried: false },
  { what: "a broken read", attempt: { error: networkError("ECONNRESET"), idempotent: true }, retried: true },
  {
    what: "an expired certificate",
    attempt: { error: networkError("CERT_HAS_EXPIRED"), idempotent: true },
    retried: false,
  },
  { what: "the fifth attempt", attempt: { status: 429, attempt: 5 }, retried: false },
  { what: "a wait beyond the deadline", attempt: { status: 429, retryAfterMs: 20_000 }, retried: false },
])("$what is retried: $retried", ({ attempt, retried }) => {
  expect(retryDelayMs({ ...failed, ...attempt }) !== undefined).toBe(retried);
});

test("the wait grows with the attempts and starts after Retry-After", () => {
  const waits = [1, 2, 3, 4].map((attempt) => retryDelayMs({ ...failed, attempt, status: 429 }, () => 1));
  expect(waits).toEqual([100, 200, 400, 800]);
  expect(retryDelayMs({ ...failed, status: 429, retryAfterMs: 1_000 }, () => 0)).toBe(1_000);
});
