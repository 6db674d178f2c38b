import { expect, test } from "vitest";
import { waitFor } from "../e2e/platform/stack/testing.ts";
import { setUp } from "../e2e/testing/set-up.ts";
import { createId } from "../shared/program/id.ts";
import { tryWithLongerDeadlines } from "../shared/program/testing-deadlines.ts";
import { renderOpenApi } from "./openapi/render.ts";
import { giveToOtherIssuer, startEndedRightsFixture } from "./testing/ended-rights-fixture.ts";
import { type DocumentedOperation, listOperations } from "./testing/operation-cases.ts";

const fixture = setUp(startEndedRightsFixture);

const operations = listOperations(renderOpenApi());

/** Every operation that writes outside of organizations, or what outlives one. */
const writing = operations.filter(
  ({ method, path, operationId, secured }) =>
    secured &&
    method !== "GET" &&
    (operationId === "createCreditNote" || !/\/organizations\/\{orgID\}|\/group-mappings/.test(path)),
);

test("every writing operation outside of organizations is in the table", () => {
  expect(writing.map(({ operationId }) => operationId).sort()).toEqual([
    "acceptInvitation",
    "closeMonth",
    "completeAdminTicketAttachment",
    "createAdminTicketAttachment",
    "createAdminTicketMessage",
    "createCreditNote",
    "createOrganization",
    "declineInvitation",
    "setUserIdentity",
    "setUserQuotas",
    "updateAdminTicket",
    "updatePlan",
    "updateRateCard",
  ]);
});

test.each(writing.map((operation) => [operation.operationId, operation] as const))(
  "%s by a person whose id another issuer gets meanwhile is refused, and writes nothing",
  async (_operationId, operation) => {
    const { api } = fixture;
    const caller = await fixture.addStaff();
    const key = createId();
    const end = () => giveToOtherIssuer(api.deps.sql, caller);
    const { response, before, after } =
      operation.method === "POST"
        ? await fixture.endBeforeKey({ operation, caller, key }, end)
        : await fixture.endBeforeBody({ operation, caller }, end);
    expect([response.status, response.body.error?.code]).toEqual([401, "unauthorized"]);
    const kept = await api.deps.sql`select from idempotency_keys where key = ${key} and status is not null`;
    expect(kept).toHaveLength(0);
    const { audit_log: logged, ...rows } = before.rows;
    const { audit_log: loggedAfter, ...rowsAfter } = after.rows;
    expect([rowsAfter, after.objects]).toEqual([rows, before.objects]);
    const refusals = operation.path.includes("/admin/") ? 1 : 0;
    expect(loggedAfter?.count).toBe((logged?.count ?? 0) + refusals);
  },
);

function findOperation(operationId: string): DocumentedOperation {
  const operation = operations.find((one) => one.operationId === operationId);
  if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
  return operation;
}

test.each(["updateOrganization", "createOrganization"])(
  "%s by a token that expires before its body has arrived is refused, and writes nothing",
  async (operationId) => {
    const { issuer } = fixture;
    const operation = findOperation(operationId);
    const caller = await fixture.addCaller();
    const endWithin = async (lifetimeMs: number) => {
      const endsAt = Math.ceil((Date.now() + lifetimeMs) / 1000);
      const claims = { exp: endsAt - issuer.config.clockToleranceSeconds };
      const credential = await issuer.sign(caller, { claims });
      const end = () => waitFor("the end of the token", () => Date.now() >= endsAt * 1000);
      return fixture.endBeforeBody({ operation, caller, credential }, end).catch((error: Error) => error);
    };
    const ended = await tryWithLongerDeadlines(endWithin, (result) => result instanceof Error);
    if (ended instanceof Error) throw ended;
    const { response, before, after } = ended;
    expect([response.status, response.body.error?.code]).toEqual([401, "unauthorized"]);
    expect(after).toEqual(before);
  },
);

test.each([
  ["deleted", "deleted_at", 404],
  ["being deleted", "deleting_at", 409],
])(
  "the ticket of an organization that is %s meanwhile is not opened again",
  async (_what, column, status) => {
    const { api, organization } = fixture;
    const operation = findOperation("updateAdminTicket");
    const caller = await fixture.addStaff();
    const { response } = await fixture.endUnderWay(
      { operation, caller, body: { status: "open" } },
      async (sql) => {
        await sql`update tickets set status = 'closed' where org_id = ${organization.id}`;
        await sql`update organizations set ${sql(column)} = now() where id = ${organization.id}`;
      },
    );
    const { sql } = api.deps;
    const tickets = await sql`select status from tickets where org_id = ${organization.id}`;
    await sql`update organizations set ${sql(column)} = null where id = ${organization.id}`;
    expect(response.status).toBe(status);
    expect(new Set(tickets.map((ticket) => ticket.status))).toEqual(new Set(["closed"]));
  },
);
