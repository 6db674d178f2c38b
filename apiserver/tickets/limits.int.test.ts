import { beforeEach, expect, test } from "vitest";
import { makeOrganization, type TestOrganization } from "../testing/issuer.ts";
import { describeFile, openDesk, setUpAttachments } from "./attachments/testing.ts";
import { DEFAULT_TICKET_LIMITS, type TicketLimits } from "./config.ts";
import { TICKET } from "./testing.ts";

const { api, issuer, staff, requests } = setUpAttachments();
beforeEach(() => limitTo({}));

function limitTo(limits: Partial<TicketLimits>): void {
  api.deps.config.ticketLimits = { ...DEFAULT_TICKET_LIMITS, ...limits };
}

const FILE_BYTES = 1000;
const file = () => describeFile(Buffer.alloc(FILE_BYTES, String(Math.random())));

/** What a tenant does again and again, and what the staff does in its place. */
const ACTIONS = {
  ticket: (org: TestOrganization) => requests.send(org, "POST", "", TICKET),
  message: (org: TestOrganization, id: string) =>
    requests.send(org, "POST", `/${id}/messages`, { body: "More." }),
  attachment: (org: TestOrganization, id: string) =>
    openDesk(api, id, org.owner, org).send("POST", "", file()),
};
const AS_STAFF = {
  message: (id: string) => requests.asStaff("POST", `/${id}/messages`, { body: "More.", internal: true }),
  attachment: (id: string) => openDesk(api, id, staff).send("POST", "", file()),
};

// A ticket is there with its first message; each limit has room for two more.
test.each<[keyof typeof ACTIONS, Partial<TicketLimits>, string]>([
  ["ticket", { openTickets: 3 }, "open_tickets"],
  ["ticket", { ticketsPerDay: 3 }, "tickets_per_day"],
  ["ticket", { messagesPerDay: 3 }, "ticket_messages_per_day"],
  ["message", { messagesPerDay: 3 }, "ticket_messages_per_day"],
  ["message", { messagesPerTicket: 3 }, "messages_per_ticket"],
  ["attachment", { attachmentsPerDay: 2 }, "attachments_per_day"],
  ["attachment", { attachmentsPerTicket: 2 }, "attachments_per_ticket"],
  ["attachment", { attachmentBytesPerTicket: 2 * FILE_BYTES }, "attachment_bytes_per_ticket"],
  ["attachment", { attachmentBytes: 2 * FILE_BYTES }, "attachment_bytes"],
])(
  "a %s beyond %j is 422 for the members of the organization, however many come at once",
  async (name, limits, field) => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    limitTo(limits);
    const act = ACTIONS[name];
    const responses = await Promise.all(Array.from({ length: 5 }, () => act(org, id)));
    const statuses = responses.map(({ status }) => status).toSorted((left, right) => left - right);
    expect(statuses).toEqual([201, 201, 422, 422, 422]);
    const refused = responses.find(({ status }) => status === 422);
    expect(refused?.body.error).toMatchObject({
      code: "quota_exceeded",
      details: [{ field, code: "out_of_range" }],
    });
    const other = await makeOrganization(api, issuer);
    expect((await requests.send(other, "POST", "", TICKET)).status).toBe(201);
  },
);

test.each(["message", "attachment"] as const)(
  "what the staff adds counts nowhere, so that no %s of it shows in a limit",
  async (name) => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    limitTo({ messagesPerTicket: 2, messagesPerDay: 2, attachmentsPerTicket: 1, attachmentsPerDay: 1 });
    for (let n = 0; n < 3; n++) expect((await AS_STAFF[name](id)).status).toBe(201);
    expect((await ACTIONS[name](org, id)).status).toBe(201);
    expect((await ACTIONS[name](org, id)).status).toBe(422);
    expect((await AS_STAFF[name](id)).status).toBe(201);
  },
);

test("a ticket that is closed makes room for another one on the same day", async () => {
  const org = await makeOrganization(api, issuer);
  const id = await requests.open(org);
  limitTo({ openTickets: 1 });
  expect((await ACTIONS.ticket(org)).status).toBe(422);
  await requests.send(org, "PUT", `/${id}`, { status: "closed" });
  expect((await ACTIONS.ticket(org)).status).toBe(201);
});

test("the platform's staff sees the limits and their use in the quotas of the organization", async () => {
  const org = await makeOrganization(api, issuer);
  const id = await requests.open(org);
  await ACTIONS.message(org, id);
  await ACTIONS.attachment(org, id);
  const path = `/api/v1/admin/organizations/${org.id}/quotas`;
  const { body } = await api.request("GET", path, { token: staff.token });
  const limits = DEFAULT_TICKET_LIMITS;
  expect(body.stores.slice(0, 5)).toEqual([
    { name: "open_tickets", limit: limits.openTickets, used: 1 },
    { name: "tickets_per_day", limit: limits.ticketsPerDay, used: 1 },
    { name: "ticket_messages_per_day", limit: limits.messagesPerDay, used: 2 },
    { name: "attachments_per_day", limit: limits.attachmentsPerDay, used: 1 },
    { name: "attachment_bytes", limit: limits.attachmentBytes, used: FILE_BYTES },
  ]);
  expect(body.ticket_limits).toEqual({
    messages_per_ticket: limits.messagesPerTicket,
    attachments_per_ticket: limits.attachmentsPerTicket,
    attachment_bytes_per_ticket: limits.attachmentBytesPerTicket,
  });
  const again = await api.request("PUT", path, { token: staff.token, body: { ...body, clusters: 7 } });
  expect(again).toMatchObject({ status: 200, body: { clusters: 7, stores: body.stores } });
});
