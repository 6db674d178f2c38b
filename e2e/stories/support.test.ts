import { createHash, randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { fetchConforming } from "../contract/openapi/conformance.ts";
import { readStack, waitFor, waitForObjectStore } from "../platform/stack/testing.ts";
import { createTenant, expectStatus } from "../testing/tenant.ts";
import { openWebhookEndpoint, type WebhookEndpoint } from "../testing/webhook-endpoint.ts";

const stack = readStack();
const alice = createTenant(stack.apiUrl, stack.tokens.alice);
const staff = createTenant(stack.apiUrl, stack.tokens.staff);

/** Status and author of the messages that an endpoint received, in any order, each event once. */
async function readUpdates(endpoint: WebhookEndpoint): Promise<string[]> {
  const deliveries = await endpoint.list();
  const once = new Map(deliveries.map(({ id, body }) => [id, JSON.parse(body).data]));
  return [...once.values()].map((data) => `${data.status} ${data.last_message_author_type}`.trim()).sort();
}

/** Uploads a screenshot and completes it; returns the id of the attachment. */
async function attachScreenshot(place: { orgID: string; ticketID: string }, bytes: Buffer): Promise<string> {
  const file = {
    filename: "nodes.png",
    content_type: "image/png" as const,
    size_bytes: bytes.length,
    sha256: createHash("sha256").update(bytes).digest("hex"),
  };
  // The API server may have found the store missing a moment ago.
  const { id, upload } = await waitFor("the store of attachments", async () =>
    expectStatus(201, await alice.call("createTicketAttachment", { ...place, body: file })),
  );
  const { "Content-Length": _, ...headers } = upload.headers;
  const { status } = await fetch(upload.url, { method: "PUT", headers, body: new Uint8Array(bytes) });
  expect(status).toBe(200);
  const completed = { ...place, attachmentID: id };
  // It is refused with 503 while the store is slow.
  await waitFor("the attachment to be completed", async () =>
    expectStatus(200, await alice.call("completeTicketAttachment", completed)),
  );
  return id;
}

/** The bytes of an attachment, as a browser gets them: by the redirect of the API, without its credential. */
async function download(path: string, token: string): Promise<Buffer> {
  const headers = { authorization: `Bearer ${token}` };
  const redirect = await waitFor("the address of the attachment", async () => {
    const answer = await fetchConforming(`${stack.apiUrl}/api/v1${path}`, { headers, redirect: "manual" });
    if (answer.status !== 302) throw new Error(`the API responded with ${answer.status}`);
    return answer;
  });
  const file = await fetch(redirect.headers.get("location") ?? "");
  expect(file.headers.get("content-disposition")).toBe("attachment; filename=nodes.png");
  return Buffer.from(await file.arrayBuffer());
}

beforeAll(async () => void (await waitForObjectStore()));

describe("support", () => {
  test("a tenant opens a ticket and adds a screenshot, staff answers, the tenant reopens it: both sides see the same, and no note leaks", async () => {
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

    const screenshot = randomBytes(20_000);
    const attachmentID = await attachScreenshot(place, screenshot);
    const shown = { body: "This is what we see.", attachment_ids: [attachmentID] };
    const { id: message_id } = expectStatus(
      201,
      await alice.call("createTicketMessage", { ...place, body: shown }),
    );

    const found = await staff.request("GET", `/admin/tickets?assigned=unassigned&q=${word}`);
    expect(found.body.items).toEqual([expectStatus(200, await alice.call("getTicket", place))]);
    const attached = expectStatus(200, await staff.call("listAdminTicketAttachments", { ticketID })).items;
    expect(attached).toMatchObject([{ id: attachmentID, message_id, filename: "nodes.png" }]);
    expect(expectStatus(200, await alice.call("listTicketAttachments", place)).items).toEqual(attached);
    const ofTicket = `tickets/${ticketID}/attachments/${attachmentID}`;
    expect(await download(`/admin/${ofTicket}`, stack.tokens.staff)).toEqual(screenshot);
    expect(await download(`/organizations/${orgID}/${ofTicket}`, stack.tokens.alice)).toEqual(screenshot);
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
    expect(messages.map(({ author_type }) => author_type)).toEqual([
      "tenant",
      "tenant",
      "provider",
      "tenant",
    ]);
    const all = expectStatus(200, await staff.call("listAdminTicketMessages", { ticketID })).items;
    expect(all.map(({ internal }) => internal)).toEqual([false, false, true, false, false]);
    const open = all.flatMap(({ internal, ...message }) => (internal ? [] : [message]));
    expect(open).toEqual(messages);

    const expected = [
      "open tenant",
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
