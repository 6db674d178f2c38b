import { globSync } from "node:fs";
import { join } from "node:path";
import { type Role, SCOPES, type Scope } from "../http/authorization/permissions.ts";

/**
 * Who may call an operation, stated independently of its route: the security tests compare the API with it. Every
 * operation needs a row; one without fails the tests.
 *
 * - `public`: no credential. `signed-in`: any credential. `people`: a person, no API token. `staff`: the platform's.
 * - else the roles, and the scopes of which a token needs one;
 *   `clusters:*` are all scopes of the resource, `a & b` are two that it needs together; without scopes no token is allowed.
 */
export type SecurityRow =
  | "public"
  | "signed-in"
  | "people"
  | "staff"
  | readonly [roles: readonly Role[], ...scopes: string[]];

/** By operationId. */
export type SecurityRows = Readonly<Record<string, SecurityRow>>;

/** The rows of every slice, from the testing-security.ts in its folder. */
export const SECURITY_ROWS: SecurityRows = Object.assign({}, ...(await readRowsOfSlices()));

async function readRowsOfSlices(): Promise<SecurityRows[]> {
  const apiserver = join(import.meta.dirname, "..");
  const modules = globSync("*/testing-security.ts", { cwd: apiserver }).map(
    (file) => import(join(apiserver, file)) as Promise<{ SECURITY_ROWS: SecurityRows }>,
  );
  return (await Promise.all(modules)).map(({ SECURITY_ROWS: rows }) => rows);
}

/** Whether this role is allowed, for a person or for a token with a scope of the row. */
export function mayRole(row: SecurityRow, role: Role): boolean {
  if (typeof row === "string") return row !== "staff";
  return row[0].includes(role);
}

/** The sets of scopes each of which lets an API token in. */
export function openingsOf(row: SecurityRow): Scope[][] {
  if (row === "public" || row === "signed-in") return SCOPES.map((scope) => [scope]);
  if (typeof row === "string") return [];
  const [, ...patterns] = row;
  return patterns.flatMap((pattern) => {
    const parts = pattern.split(" & ");
    if (parts.length > 1) return [SCOPES.filter((scope) => parts.includes(scope))];
    return SCOPES.filter((scope) => pattern === scope || pattern === scope.replace(/:.*/, ":*")).map(
      (scope) => [scope],
    );
  });
}
