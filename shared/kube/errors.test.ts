import { expect, test } from "vitest";
import { KubeError, type KubeErrorDetails, toKubeError } from "./errors.ts";
import { toStatus } from "./testing.ts";

const respond = (status: number, body: unknown, headers = {}) =>
  toKubeError({ status, body, headers }, "GET /x");

test("a Status becomes a KubeError with the API's own message", () => {
  const error = respond(422, toStatus(422, "Invalid", "spec.x: too long", { name: "a" }));
  expect(error).toMatchObject({
    status: 422,
    reason: "Invalid",
    kubeMessage: "spec.x: too long",
    isInvalid: true,
  });
  expect(error.details?.name).toBe("a");
  expect(error.message).toBe("GET /x: 422 Invalid: spec.x: too long");
});

test("a response that is not a Status keeps its text", () => {
  expect(respond(502, "<html>bad gateway</html>")).toMatchObject({
    status: 502,
    reason: "UnexpectedResponse",
    kubeMessage: "<html>bad gateway</html>",
    isUnavailable: true,
  });
  expect(respond(404, "404 page not found\n")).toMatchObject({
    isNotFound: true,
    kubeMessage: "404 page not found",
  });
  expect(respond(500, "").kubeMessage).toBe("the response had no body");
});

test("Retry-After is read from the header, else from the Status", () => {
  expect(respond(429, "", { "retry-after": "2" }).retryAfterMs).toBe(2_000);
  expect(respond(429, toStatus(429, "TooManyRequests", "", { retryAfterSeconds: 3 })).retryAfterMs).toBe(
    3_000,
  );
  expect(respond(429, "").retryAfterMs).toBeUndefined();
});

interface ErrorCase {
  status: number;
  reason?: string;
  message?: string;
  details?: KubeErrorDetails;
  is: string[];
}

test.each<ErrorCase>([
  { status: 404, is: ["isNotFound"] },
  { status: 404, details: { name: "a", kind: "clusters" }, is: ["isNotFound", "isMissingObject"] },
  { status: 409, reason: "Conflict", is: ["isConflict"] },
  { status: 409, reason: "AlreadyExists", is: ["isAlreadyExists"] },
  { status: 410, reason: "Expired", is: ["isGone"] },
  { status: 422, reason: "Invalid", is: ["isInvalid"] },
  {
    status: 422,
    reason: "Invalid",
    message: "the server rejected our request due to an error in our request",
    is: ["isConflict"],
  },
  {
    status: 422,
    reason: "Invalid",
    details: { causes: [{ field: "metadata.uid" }] },
    is: ["isConflict"],
  },
  { status: 429, is: ["isUnavailable"] },
  { status: 503, is: ["isUnavailable"] },
  { status: 504, is: ["isUnavailable"] },
  { status: 500, message: 'failed calling webhook "a.b": connection refused', is: ["isUnavailable"] },
  {
    status: 403,
    message: 'clusters "a" is forbidden: User "b" cannot get resource "clusters" in API group "c"',
    is: ["isUnavailable"],
  },
  {
    status: 403,
    message:
      'clusteraccesses "a" is forbidden: status unknown for quota: b, resources: count/clusteraccesses.c',
    is: ["isUnavailable"],
  },
  { status: 403, message: 'clusters "a" is forbidden: ValidatingAdmissionPolicy "b" denied request', is: [] },
  { status: 403, message: 'pods "a" is forbidden: exceeded quota: b, used: pods=1', is: [] },
  { status: 500, message: "etcd is sad", is: [] },
  { status: 0, reason: "Unreachable", is: ["isUnavailable"] },
  { status: 0, reason: "Aborted", is: ["isAborted"] },
])("$status $reason is $is", ({ status, reason = "", message = "", details, is }) => {
  const error = new KubeError({ status, reason, kubeMessage: message, details });
  const flags = [
    "isNotFound",
    "isMissingObject",
    "isConflict",
    "isAlreadyExists",
    "isGone",
    "isInvalid",
    "isUnavailable",
    "isAborted",
  ];
  expect(flags.filter((flag) => error[flag as keyof KubeError] === true)).toEqual(is);
});
