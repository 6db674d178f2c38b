import { expect, test } from "vitest";
import { KubeError, toKubeError } from "./errors.ts";
import { toStatus } from "./testing.ts";

const answer = (status: number, body: unknown, headers = {}) =>
  toKubeError({ status, body, headers }, "GET /x");

test("a Status becomes a KubeError with the API's own words", () => {
  const error = answer(422, toStatus(422, "Invalid", "spec.x: too long", { name: "a" }));
  expect(error).toMatchObject({
    status: 422,
    reason: "Invalid",
    kubeMessage: "spec.x: too long",
    isInvalid: true,
  });
  expect(error.details?.name).toBe("a");
  expect(error.message).toBe("GET /x: 422 Invalid: spec.x: too long");
});

test("an answer that is no Status still tells what came", () => {
  expect(answer(502, "<html>bad gateway</html>")).toMatchObject({
    status: 502,
    reason: "UnexpectedAnswer",
    kubeMessage: "<html>bad gateway</html>",
    isUnavailable: true,
  });
  expect(answer(404, "404 page not found\n")).toMatchObject({
    isNotFound: true,
    kubeMessage: "404 page not found",
  });
  expect(answer(500, "").kubeMessage).toBe("the answer had no body");
});

test("Retry-After is read from the header, else from the Status", () => {
  expect(answer(429, "", { "retry-after": "2" }).retryAfterMs).toBe(2_000);
  expect(answer(429, toStatus(429, "TooManyRequests", "", { retryAfterSeconds: 3 })).retryAfterMs).toBe(
    3_000,
  );
  expect(answer(429, "").retryAfterMs).toBeUndefined();
});

test.each<{ status: number; reason?: string; message?: string; is: string[] }>([
  { status: 404, is: ["isNotFound"] },
  { status: 409, reason: "Conflict", is: ["isConflict"] },
  { status: 409, reason: "AlreadyExists", is: ["isAlreadyExists"] },
  { status: 410, reason: "Expired", is: ["isGone"] },
  { status: 422, reason: "Invalid", is: ["isInvalid"] },
  { status: 429, is: ["isUnavailable"] },
  { status: 503, is: ["isUnavailable"] },
  { status: 504, is: ["isUnavailable"] },
  { status: 500, message: 'failed calling webhook "a.b": connection refused', is: ["isUnavailable"] },
  { status: 500, message: "etcd is sad", is: [] },
  { status: 0, reason: "Unreachable", is: ["isUnavailable"] },
  { status: 0, reason: "Aborted", is: ["isAborted"] },
])("$status $reason is $is", ({ status, reason = "", message = "", is }) => {
  const error = new KubeError({ status, reason, kubeMessage: message });
  const flags = [
    "isNotFound",
    "isConflict",
    "isAlreadyExists",
    "isGone",
    "isInvalid",
    "isUnavailable",
    "isAborted",
  ];
  expect(flags.filter((flag) => error[flag as keyof KubeError] === true)).toEqual(is);
});
