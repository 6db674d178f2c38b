import { describe, expect, test } from "vitest";
import { setUp } from "../e2e/testing/set-up.ts";
import { createId } from "../shared/program/id.ts";
import type { Sql } from "./db/client.ts";
import { ROLES, type Role } from "./http/authorization/permissions.ts";
import { renderOpenApi } from "./openapi/render.ts";
import {
  type EndingCaller,
  giveToOtherIssuer,
  startEndedRightsFixture,
} from "./testing/ended-rights-fixture.ts";
import { listOperations, VALID_BODIES } from "./testing/operation-cases.ts";
import { mayRole, openingsOf, SECURITY_ROWS } from "./testing/security-rows.ts";

const fixture = setUp(startEndedRightsFixture);

const operations = listOperations(renderOpenApi());

/** Every operation of an organization that writes, and the one that only reads but hands out a credential. */
const writing = operations.filter(
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

/** Every operation of the platform's staff that writes in an organization, but on what outlives it. */
const writingOfStaff = operations.filter(
  ({ method, path, operationId }) =>
    /\/admin\/(organizations\/\{orgID\}|group-mappings)/.test(path) &&
    method !== "GET" &&
    operationId !== "createCreditNote",
);

interface End {
  what: string;
  /** Undefined for an operation of which it ends no right. */
  of: (
    operationId: string,
  ) =>
    | ((sql: Sql, caller: Pick<EndingCaller, "memberId" | "tokenId" | "userId">) => Promise<unknown>)
    | undefined;
  byToken?: boolean;
  /** It is tried before a slow body has arrived too; the others differ from one of these only in the row that they change. */
  beforeBody?: true;
  refusal: readonly [status: number, code: string];
}

const byToken = (end: (sql: Sql, tokenId: string) => Promise<unknown>): Pick<End, "of" | "byToken"> => ({
  byToken: true,
  of: (operationId) =>
    openingsOf(SECURITY_ROWS[operationId] ?? "public").length === 0
      ? undefined
      : (sql, { tokenId }) => end(sql, tokenId),
});

/** Staff, who are no members, lose nothing but the organization. */
const ENDS_OF_ORGANIZATION: End[] = [
  {
    what: "an organization that is deleted",
    beforeBody: true,
    of: () => (sql) => sql`update organizations set deleted_at = now() where id = ${fixture.organization.id}`,
    refusal: [404, "not_found"],
  },
  {
    what: "an organization that is being deleted",
    of: () => (sql) =>
      sql`update organizations set deleting_at = now() where id = ${fixture.organization.id}`,
    refusal: [409, "conflict"],
  },
];

const ENDS: End[] = [
  {
    what: "a member who is removed",
    beforeBody: true,
    of: () => (sql, caller) => sql`delete from members where id = ${caller.memberId}`,
    refusal: [404, "not_found"],
  },
  {
    what: "a member who loses the role",
    beforeBody: true,
    of(operationId) {
      const role = findLowerRole(operationId);
      return role && ((sql, { memberId }) => sql`update members set role = ${role} where id = ${memberId}`);
    },
    refusal: [403, "forbidden"],
  },
  ...ENDS_OF_ORGANIZATION,
  {
    what: "a person whose id another issuer gets",
    beforeBody: true,
    of: () => giveToOtherIssuer,
    refusal: [401, "unauthorized"],
  },
  {
    what: "a token that is revoked",
    beforeBody: true,
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

const restoreOrganization = () => fixture.api.deps
  .sql`update organizations set deleted_at = null, deleting_at = null
  where id = ${fixture.organization.id} and (deleted_at is not null or deleting_at is not null)`;

/** The status under which the response to a request with this key is kept; null while none is. */
async function readKept(key: string): Promise<unknown> {
  const [row] = await fixture.api.deps.sql`select status from idempotency_keys where key = ${key}`;
  return row?.status;
}

describe.each(writing.map((operation) => [operation.operationId, operation] as const))(
  "%s",
  (operationId, operation) => {
    const ends = ENDS.flatMap((one) => {
      const end = one.of(operationId);
      return end === undefined ? [] : [{ ...one, end }];
    });

    test.each(ends)("of $what while it is under way is refused, and writes nothing", async (row) => {
      const caller = await fixture.addCaller();
      const credential = row.byToken === true ? caller.tokenText : caller.token;
      const key = createId();
      const { response, before, after, early } = await fixture.endUnderWay(
        { operation, caller, credential, ...(operation.method === "POST" ? { key } : {}) },
        (sql) => row.end(sql, caller),
      );
      await restoreOrganization();
      expect([response.status, response.body.error?.code]).toEqual(row.refusal);
      expect([after, early]).toEqual([before, []]);
      expect(operation.method === "POST" ? await readKept(key) : null).toBeNull();
    });

    test.each(
      operation.method === "POST" ? ends.filter((row) => row.beforeBody && row.byToken !== true) : [],
    )("of $what before the response of an earlier attempt is found is refused", async (row) => {
      const caller = await fixture.addCaller();
      const request = { operation, caller, key: createId(), kept: 201 };
      const { response } = await fixture.endBeforeKey(request, (sql) => row.end(sql, caller));
      await restoreOrganization();
      expect([response.status, response.body.error?.code]).toEqual(row.refusal);
    });

    test.each(operation.body === undefined ? [] : ends.filter(({ beforeBody }) => beforeBody))(
      "of $what before its body has arrived is refused, and writes nothing",
      async (row) => {
        const caller = await fixture.addCaller();
        const credential = row.byToken === true ? caller.tokenText : caller.token;
        const { response, before, after } = await fixture.endBeforeBody(
          { operation, caller, credential },
          (sql) => row.end(sql, caller),
        );
        await restoreOrganization();
        expect([response.status, response.body.error?.code]).toEqual(row.refusal);
        expect(after).toEqual(before);
      },
    );
  },
);

test("every writing operation of the platform's staff in an organization is in the table", () => {
  expect(writingOfStaff.map(({ operationId }) => operationId).sort()).toEqual([
    "createGroupMapping",
    "deleteGroupMapping",
    "setClusterSuspension",
    "setOrganizationQuotas",
    "setOrganizationStorageQuota",
    "updateGroupMapping",
  ]);
});

describe.each(writingOfStaff.map((operation) => [operation.operationId, operation] as const))(
  "%s by the platform's staff",
  (operationId, operation) => {
    test.each(ENDS_OF_ORGANIZATION)(
      "in $what while it is under way is refused, and writes nothing but that",
      async ({ of, refusal: [status, code] }) => {
        const caller = await fixture.addStaff();
        const end = of(operationId);
        if (end === undefined) throw new Error("an organization ends for every operation");
        const { response, before, after, early } = await fixture.endUnderWay({ operation, caller }, (sql) =>
          end(sql, { memberId: "", tokenId: "", userId: caller.userId }),
        );
        await restoreOrganization();
        // The body of this one names the organization.
        const isNamed = operationId === "createGroupMapping" && code === "not_found";
        const refusal = isNamed ? [422, "validation_failed"] : [status, code];
        expect([response.status, response.body.error?.code]).toEqual(refusal);
        const { audit_log: logged, ...rows } = before.rows;
        const { audit_log: loggedAfter, ...rowsAfter } = after.rows;
        // The first request of a person stores who it is.
        expect([rowsAfter, after.objects, early]).toEqual([rows, before.objects, ["users"]]);
        expect(loggedAfter?.count).toBe((logged?.count ?? 0) + 1);
      },
    );
  },
);

test("a request that was refused with its key is carried out by it once the right to it is given back", async () => {
  const { api, organization } = fixture;
  const operation = writing.find(({ operationId }) => operationId === "createTicket");
  if (operation === undefined) throw new Error("no operation opens tickets");
  const caller = await fixture.addCaller();
  const key = createId();
  const request = { operation, caller, key, body: VALID_BODIES.createTicket ?? {} };
  const { response } = await fixture.endUnderWay(
    request,
    (sql) => sql`update members set role = 'viewer' where id = ${caller.memberId}`,
  );
  expect(response.status).toBe(403);
  await api.deps.sql`update members set role = 'owner' where id = ${caller.memberId}`;
  const send = () =>
    api.request("POST", `${organization.path}/tickets`, {
      token: caller.token,
      body: request.body,
      headers: { "idempotency-key": key },
    });
  const [first, second] = [await send(), await send()];
  expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([201, null]);
  expect([second.body, second.headers.get("idempotency-replayed")]).toEqual([first.body, "true"]);
});

test("a token of a creator who loses a role while it is being created gets no permission of that role", async () => {
  const caller = await fixture.addCaller();
  const operation = writing.find(({ operationId }) => operationId === "createApiToken");
  if (operation === undefined) throw new Error("no operation creates API tokens");
  const { response, before, after } = await fixture.endUnderWay(
    { operation, caller, body: { name: "example", role: "owner", scopes: ["clusters:read"] } },
    (sql) => sql`update members set role = 'admin' where id = ${caller.memberId}`,
  );
  expect([response.status, response.body.error?.code]).toEqual([403, "forbidden"]);
  expect(after).toEqual(before);
});
