import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sql } from "./db/client.ts";
import { ROLES, type Role } from "./http/authorization/permissions.ts";
import { renderOpenApi } from "./openapi/render.ts";
import {
  type EndedRightsFixture,
  type EndingCaller,
  startEndedRightsFixture,
} from "./testing/ended-rights-fixture.ts";
import { listOperations } from "./testing/operation-cases.ts";
import { mayRole, openingsOf, SECURITY_ROWS } from "./testing/security-rows.ts";

let fixture: EndedRightsFixture;

beforeAll(async () => {
  fixture = await startEndedRightsFixture();
});
afterAll(() => fixture.close());

/** Every operation of an organization that writes, and the one that only reads but hands out a credential. */
const writing = listOperations(renderOpenApi()).filter(
  ({ method, path, operationId }) =>
    path.includes("/organizations/{orgID}") &&
    !path.includes("/admin/") &&
    (method !== "GET" || operationId === "getKubeconfig"),
);

/** A role without the permission; to leave stays with every role, to remove others does not. */
function findLowerRole(operationId: string): Role | undefined {
  if (operationId === "removeMember") return "viewer";
  const row = SECURITY_ROWS[operationId];
  return row && ROLES.find((role) => !mayRole(row, role));
}

interface End {
  what: string;
  /** Undefined for an operation of which it ends no right. */
  of: (operationId: string) => ((sql: Sql, caller: EndingCaller) => Promise<unknown>) | undefined;
  byToken?: boolean;
  refusal: readonly [status: number, code: string];
}

const byToken = (end: (sql: Sql, tokenId: string) => Promise<unknown>): Pick<End, "of" | "byToken"> => ({
  byToken: true,
  of: (operationId) =>
    openingsOf(SECURITY_ROWS[operationId] ?? "public").length === 0
      ? undefined
      : (sql, { tokenId }) => end(sql, tokenId),
});

const ENDS: End[] = [
  {
    what: "a member who is removed",
    of: () => (sql, caller) => sql`delete from members where id = ${caller.memberId}`,
    refusal: [404, "not_found"],
  },
  {
    what: "a member who loses the role",
    of(operationId) {
      const role = findLowerRole(operationId);
      return role && ((sql, { memberId }) => sql`update members set role = ${role} where id = ${memberId}`);
    },
    refusal: [403, "forbidden"],
  },
  {
    what: "an organization that is deleted",
    of: () => (sql) => sql`update organizations set deleted_at = now() where id = ${fixture.organization.id}`,
    refusal: [404, "not_found"],
  },
  {
    what: "an organization that is being deleted",
    of: () => (sql) =>
      sql`update organizations set deleting_at = now() where id = ${fixture.organization.id}`,
    refusal: [409, "conflict"],
  },
  {
    what: "a token that is revoked",
    ...byToken((sql, id) => sql`update api_tokens set revoked_at = now() where id = ${id}`),
    refusal: [403, "forbidden"],
  },
  {
    what: "a token that is rotated",
    ...byToken((sql, id) => sql`update api_tokens set version = version + 1 where id = ${id}`),
    refusal: [403, "forbidden"],
  },
  {
    what: "a token that expires",
    ...byToken((sql, id) => sql`update api_tokens set expires_at = now() where id = ${id}`),
    refusal: [403, "forbidden"],
  },
];

test("every writing operation is in the table", () => {
  expect(writing.map(({ operationId }) => operationId)).toContain("updateNodePool");
  expect(writing.length).toBeGreaterThan(40);
});

describe.each(writing.map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (operationId, operation) => {
    test.each(
      ENDS.flatMap((one) => {
        const end = one.of(operationId);
        return end === undefined ? [] : [{ ...one, end }];
      }),
    )("of $what while it is under way is refused, and writes nothing", async (row) => {
      const caller = await fixture.addCaller();
      const credential = row.byToken === true ? caller.tokenText : caller.token;
      const { response, before, after } = await fixture.endUnderWay(
        operation,
        caller,
        (sql) => row.end(sql, caller),
        { credential },
      );
      await fixture.api.deps.sql`update organizations set deleted_at = null, deleting_at = null
        where id = ${fixture.organization.id} and (deleted_at is not null or deleting_at is not null)`;
      expect([response.status, response.body.error?.code]).toEqual(row.refusal);
      expect(after).toEqual(before);
    });
  },
);

test("a token of a creator who loses a role while it is being created gets no permission of that role", async () => {
  const caller = await fixture.addCaller();
  const operation = writing.find(({ operationId }) => operationId === "createApiToken");
  if (operation === undefined) throw new Error("no operation creates API tokens");
  const { response, before, after } = await fixture.endUnderWay(
    operation,
    caller,
    (sql) => sql`update members set role = 'admin' where id = ${caller.memberId}`,
    { body: { name: "example", role: "owner", scopes: ["clusters:read"] } },
  );
  expect([response.status, response.body.error?.code]).toEqual([403, "forbidden"]);
  expect(after).toEqual(before);
});
