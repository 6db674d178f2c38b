import { expect, test } from "vitest";
import { readTable } from "../shared/program/testing-tables.ts";
import { hasPermission, PERMISSIONS, ROLES, scopeOf } from "./http/authorization/permissions.ts";
import { DETAIL_CODES, ERROR_CODES, statusOf } from "./http/errors.ts";
import { DEFAULT_RATE_LIMITS, RATE_CLASSES } from "./http/limits.ts";
import { DEFAULT_QUOTAS } from "./quotas/config.ts";
import { presentLimits } from "./quotas/present.ts";

const code = (text: string) => `\`${text}\``;
/** Rows of a table without the last column, which is words; every row has some. */
function readFacts(page: string, heading: string): string[][] {
  const rows = readTable(page, heading);
  expect(rows.filter((row) => row.at(-1) === "")).toEqual([]);
  return rows.map((row) => row.slice(0, -1));
}

test("docs/tenants/access.md has every permission, who holds it, and the scope that grants it", () => {
  const expected = PERMISSIONS.map((permission) => {
    const scope = scopeOf(permission);
    const held = ROLES.map((role) => (hasPermission(role, permission) ? "yes" : ""));
    return [code(permission), ...held, scope === undefined ? "none" : code(scope)];
  });
  expect(readTable("docs/tenants/access.md", "## Roles and scopes")).toEqual(expected);
});

test("docs/tenants/errors.md has every code with its status, and what to do", () => {
  const expected = ERROR_CODES.map((name) => [code(name), String(statusOf(name))]);
  expect(readFacts("docs/tenants/errors.md", "## Codes")).toEqual(expected);
});

test("docs/tenants/errors.md has every code of a field", () => {
  const expected = DETAIL_CODES.map((name) => [code(name)]);
  expect(readFacts("docs/tenants/errors.md", "## Codes of fields")).toEqual(expected);
});

test("docs/tenants/limits.md has every rate with its default", () => {
  const expected = RATE_CLASSES.map((name) => {
    const { burst, perMinute } = DEFAULT_RATE_LIMITS[name];
    return [code(name), String(burst), String(perMinute)];
  });
  expect(readFacts("docs/tenants/limits.md", "## Rates of requests")).toEqual(expected);
});

test("docs/tenants/limits.md has every quota with its default", () => {
  const expected = Object.entries(presentLimits(DEFAULT_QUOTAS)).map(([name, limit]) => [
    code(name),
    String(limit),
  ]);
  expect(readFacts("docs/tenants/limits.md", "## Quotas")).toEqual(expected);
});
