import { describe, expect, test } from "vitest";
import {
  ApiError,
  dependencyUnavailable,
  ERROR_CODES,
  invalidField,
  statusOf,
  validationFailed,
} from "./errors.ts";

describe("error codes", () => {
  test.each([
    ["bad_request", 400],
    ["unauthorized", 401],
    ["forbidden", 403],
    ["not_found", 404],
    ["method_not_allowed", 405],
    ["not_acceptable", 406],
    ["request_timeout", 408],
    ["already_exists", 409],
    ["managed_elsewhere", 409],
    ["precondition_failed", 412],
    ["payload_too_large", 413],
    ["unsupported_media_type", 415],
    ["validation_failed", 422],
    ["quota_exceeded", 422],
    ["rate_limited", 429],
    ["internal", 500],
    ["dependency_unavailable", 503],
  ] as const)("%s is always %i", (code, status) => {
    expect(new ApiError(code, "").status).toBe(status);
  });

  test("every code has a status of an error", () => {
    for (const code of ERROR_CODES) expect(statusOf(code)).toBeGreaterThanOrEqual(400);
  });
});

test("a validation error begins with its first field and code", () => {
  const error = validationFailed([
    { field: "public_endpoint", code: "immutable", message: "cannot be changed" },
    { field: "name", code: "too_long", message: "must have at most 63 characters" },
  ]);
  expect(error.message).toBe("public_endpoint/immutable: cannot be changed (and 1 more)");
  expect(error.details).toHaveLength(2);
});

test("a single refused field is named without a count", () => {
  expect(invalidField("email", "required", "is required").message).toBe("email/required: is required");
});

test("an unavailable dependency has a Retry-After", () => {
  expect(dependencyUnavailable("The database")).toMatchObject({ status: 503, retryAfterSeconds: 5 });
});
