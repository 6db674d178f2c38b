import { DrizzleQueryError } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { describeDatabaseError, isDatabaseUnavailable, uniqueViolationOf } from "./errors.ts";

function failed(fields: { name?: string; code: string; constraint_name?: string }): Error {
  const cause = Object.assign(new Error("server's words"), { name: "PostgresError", ...fields });
  return new DrizzleQueryError("insert into secrets values ($1)", ["hunter2"], cause);
}

describe("a failed query", () => {
  test.each([["57P01"], ["57P03"], ["53300"], ["57014"], ["08006"]])(
    "%s says that Postgres is away",
    (code) => {
      expect(isDatabaseUnavailable(failed({ code }))).toBe(true);
    },
  );

  test.each([["ECONNREFUSED"], ["CONNECTION_CLOSED"], ["CONNECT_TIMEOUT"]])("%s is one too", (code) => {
    expect(isDatabaseUnavailable(failed({ name: "Error", code }))).toBe(true);
  });

  test("a mistake of ours is no outage", () => {
    expect(isDatabaseUnavailable(failed({ code: "42703" }))).toBe(false);
    expect(isDatabaseUnavailable(new Error("x"))).toBe(false);
  });

  test("names the violated constraint", () => {
    expect(uniqueViolationOf(failed({ code: "23505", constraint_name: "organizations_slug_key" }))).toBe(
      "organizations_slug_key",
    );
    expect(uniqueViolationOf(failed({ code: "23503", constraint_name: "x" }))).toBeUndefined();
  });

  test("is described without the query and its parameters", () => {
    const text = JSON.stringify(describeDatabaseError(failed({ code: "42703" })));
    expect(text).toBe('{"code":"42703","message":"server\'s words"}');
  });
});
