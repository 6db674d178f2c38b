import { describe, expect, test } from "vitest";
import { createId } from "../../shared/id.ts";
import { readStack, waitFor } from "../stack/testing.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";
import { openWebhookEndpoint, type WebhookEndpoint } from "../testing/webhook-endpoint.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const staff = createTenant(stack.apiUrl, stack.tokens.staff);

/** Status and author of the messages that an endpoint was told of, in any order, each event once. */
async function readUpdates(endpoint: WebhookEndpoint): Promise<string[]> {
  const deliveries = await endpoint.list();
  const once = new Map(deliveries.map(({ id, body }) => [id, JSON.parse(body).data]));
  return [...once.values()].map((data) => `${data.status} ${data.last_message_author_type}`.trim()).sort();
}

describe("support", () => {
  test("a tenant opens a ticket, staff answers, the tenant reopens it: both sides see the same, and no note leaks", {
    timeout: 120_000,
  }, async () => {
    const { id: orgID } = expectStatus(
      201,
      await alice.call("createOrganization", { body: { name: "Support" } }),
    );
    const endpoint = openWebhookEndpoint(stack);
    const hook = { url: endpoint.url, events: ["ticket.updated" as const] };
    const { secret } = expectStatus(201, await alice.call("createWebhook", { orgID, body: hook }));
    await endpoint.useSecret(secret);

    const word = `boot-${createId()}`;
    const opened = expectStatus(
      201,
      await alice.call("createTicket", {
        orgID,
        body: {
          subject: "Nodes do not start",
          category: "cluster",
          severity: "high",
          body: `The log ends with ${word}.`,
        },
      }),
    );
    const ticketID = opened.id;
    const place = { orgID, ticketID };
    expect(opened).toMatchObject({ status: "open", first_response_at: null, overdue: false });
    expect(Date.parse(opened.respond_by ?? "")).toBeGreaterThan(Date.parse(opened.created_at));

    const found = await staff.request("GET", `/admin/tickets?assigned=unassigned&q=${word}`);
    expect(found.body.items).toEqual([opened]);
    const me = await staff.request("GET", "/me");
    const taken = await staff.call("updateAdminTicket", {
      ticketID,
      body: { assigned_to: me.body.principal.id, status: "in_progress" },
    });
    expect(expectStatus(200, taken)).toMatchObject({ status: "in_progress" });
    const note = { body: `Host 17 is broken (${createId()}).`, internal: true };
    expectStatus(201, await staff.call("createAdminTicketMessage", { ticketID, body: note }));
    const answer = { body: "We have replaced the hardware.", internal: false };
    const answered = expectStatus(
      201,
      await staff.call("createAdminTicketMessage", { ticketID, body: answer }),
    );
    expectStatus(200, await staff.call("updateAdminTicket", { ticketID, body: { status: "resolved" } }));

    const resolved = expectStatus(200, await alice.call("getTicket", place));
    expect(resolved).toMatchObject({
      status: "resolved",
      first_response_at: answered.created_at,
      respond_by: null,
    });
    expect(resolved.resolved_at).not.toBeNull();
    const body = { body: "One node still does not start." };
    expectStatus(201, await alice.call("createTicketMessage", { ...place, body }));
    const reopened = expectStatus(
      200,
      await alice.call("updateTicket", { ...place, body: { status: "open" } }),
    );
    expect(reopened).toMatchObject({ status: "open", resolved_at: null, overdue: false });
    expect(reopened.respond_by).not.toBeNull();

    const [mine, theirs] = [
      expectStatus(200, await alice.call("getTicket", place)),
      expectStatus(200, await staff.call("getAdminTicket", { ticketID })),
    ];
    expect(theirs).toEqual(mine);
    const messages = expectStatus(200, await alice.call("listTicketMessages", place)).items;
    expect(messages.map(({ author_type }) => author_type)).toEqual(["tenant", "provider", "tenant"]);
    const all = expectStatus(200, await staff.call("listAdminTicketMessages", { ticketID })).items;
    expect(all.map(({ internal }) => internal)).toEqual([false, true, false, false]);
    const open = all.flatMap(({ internal, ...message }) => (internal ? [] : [message]));
    expect(open).toEqual(messages);

    const expected = [
      "open tenant",
      "in_progress",
      "in_progress provider",
      "resolved",
      "resolved tenant",
      "open",
    ];
    await waitFor("the webhook to be told of each of these", async () => {
      expect(await readUpdates(endpoint)).toEqual(expected.toSorted());
      return true;
    });
    const audit = await alice.request("GET", `/organizations/${orgID}/audit-log?limit=100`);
    const seen = JSON.stringify([audit.body, messages, mine, await endpoint.list()]);
    expect(seen).not.toContain(note.body);
    expect((await endpoint.list()).filter(({ verified }) => verified !== true)).toEqual([]);
  });
});
