import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { createId } from "../../shared/program/id.ts";
import { ROLES } from "../http/authorization/permissions.ts";
import { renderOpenApi } from "../openapi/render.ts";
import type { TestResponse } from "../testing/app.ts";
import { addPerson, makeOrganization, type Person, type TestOrganization } from "../testing/issuer.ts";
import { listOperations, VALID_BODIES } from "../testing/operation-cases.ts";
import { setUpTestService } from "../testing/service.ts";
import { fanOutEvents } from "../webhooks/deliverer/fan-out-store.ts";
import { insertTestAttachment } from "./attachments/testing.ts";
import { createTicketRequests } from "./testing.ts";

/** Every operation that a tenant can call: one that is added is tested here without another line. */
const operations = listOperations(renderOpenApi()).filter(({ path }) => !path.startsWith("/api/v1/admin/"));
const reads = operations.filter(({ method }) => method === "GET");
/** Those that end the ticket or its organization come last. */
const writes = operations
  .filter(({ method }) => method !== "GET")
  .toSorted((left, right) => Number(left.method === "DELETE") - Number(right.method === "DELETE"));

const { api, issuer } = setUpTestService();
let requests: ReturnType<typeof createTicketRequests>;
beforeAll(async () => {
  const staff = await issuer.createStaff();
  requests = createTicketRequests(api, staff);
});

interface Place {
  org: TestOrganization;
  ids: Record<string, string>;
}

/** An organization with a webhook for every event and a ticket of several messages. */
async function makePlace(): Promise<Place> {
  const org = await makeOrganization(api, issuer);
  const webhook = await api.request("POST", `${org.path}/webhooks`, {
    token: org.owner.token,
    body: { url: "https://hooks.example.com", events: ["*"] },
  });
  const ticketID = await requests.open(org, { category: "billing" });
  await requests.asStaff("POST", `/${ticketID}/messages`, { body: "We look into it." });
  await requests.send(org, "POST", `/${ticketID}/messages`, { body: "Thanks." });
  await fanOutEvents(api.deps.db);
  const deliveries = await api.request("GET", `${org.path}/webhooks/${webhook.body.id}/deliveries`, {
    token: org.owner.token,
  });
  const ids = {
    orgID: org.id,
    ticketID,
    webhookID: webhook.body.id,
    deliveryID: deliveries.body.items[0].id,
  };
  return { org, ids };
}

/** The operator of the stack reports what the shared storage of a new organization holds, which its tenant reads. */
async function waitForStorageFigures({ org }: Place): Promise<void> {
  await waitFor("the figures of the shared storage", async () => {
    const { body } = await api.request("GET", `${org.path}/storage-quota`, { token: org.owner.token });
    return Number.isInteger(body.observed_quota_bytes) && Number.isInteger(body.observed_used_bytes);
  });
}

/** Writes internal notes with a word that stands nowhere else; returns that word and the ids of the notes. */
async function addNotes({ org, ids }: Place): Promise<string[]> {
  const word = `secret-${createId()}`;
  const traces = [word];
  for (const text of [word, `${word} again`]) {
    const note = { body: text, internal: true };
    const { status, body } = await requests.asStaff("POST", `/${ids.ticketID}/messages`, note);
    if (status !== 201 || body.internal !== true) throw new Error(`no note: ${JSON.stringify(body)}`);
    const file = { messageId: body.id, internal: true, filename: `${word}.txt` };
    traces.push(body.id, await insertTestAttachment(api.deps, org.id, ids.ticketID ?? "", file));
  }
  return traces;
}

function send({ ids }: Place, operation: (typeof operations)[number], { token }: Person, query = "") {
  const { method, operationId, body } = operation;
  const path = operation.path.replaceAll(/\{(.+?)\}/g, (_match, name: string) => ids[name] ?? createId());
  const value = VALID_BODIES[operationId] ?? body?.example;
  return api.request(method, `${path}${query}`, { token, ...(value === undefined ? {} : { body: value }) });
}

function toText({ headers, body }: TestResponse): string {
  return JSON.stringify([[...headers], body]);
}

/** What must not change: all but what differs between any two requests. */
function toComparable({ status, headers, body }: TestResponse) {
  const changing = ["x-request-id", "ratelimit", "date"];
  const { request_id: _, ...error } = body?.error ?? {};
  const { rated_until: _until, ...record } = body ?? {};
  const kept = body?.error === undefined ? record : { error };
  return { status, headers: [...headers].filter(([name]) => !changing.includes(name)), body: kept };
}

describe("internal notes", () => {
  test("are in no response to any operation of a tenant, whatever the role", async () => {
    for (const role of ROLES) {
      const place = await makePlace();
      const person = role === "owner" ? place.org.owner : await issuer.createPerson();
      if (role !== "owner") await addPerson(api.deps, place.org.id, person, role);
      const traces = await addNotes(place);
      const ofStaff = await requests.asStaff("GET", `/${place.ids.ticketID}/messages`);
      const files = await requests.asStaff("GET", `/${place.ids.ticketID}/attachments`);
      for (const trace of traces) expect(toText(ofStaff) + toText(files)).toContain(trace);
      for (const operation of [...reads, ...writes, ...reads]) {
        const response = await send(place, operation, person);
        for (const trace of traces)
          expect(`${operation.operationId} ${toText(response)}`).not.toContain(trace);
      }
    }
  });

  test("change nothing that a tenant reads: no record, list, ETag, event, audit entry or delivery", async () => {
    const place = await makePlace();
    const readAll = async () => {
      const all: Record<string, unknown> = {};
      for (const operation of reads) {
        const ids = { ...UNKNOWN, ...place.ids };
        all[operation.operationId] = toComparable(await send({ ...place, ids }, operation, place.org.owner));
      }
      return all;
    };
    await waitForStorageFigures(place);
    const before = await readAll();
    const events = await requests.readEvents(place.org);
    await addNotes(place);
    await fanOutEvents(api.deps.db);
    expect(await readAll()).toEqual(before);
    expect(await requests.readEvents(place.org)).toEqual(events);
  });

  test("are no position of a tenant's cursor, and fill no page", async () => {
    const place = await makePlace();
    const [, noteId = ""] = await addNotes(place);
    const { org, ids } = place;
    const path = `/${ids.ticketID}/messages`;
    await requests.send(org, "POST", path, { body: "The last one." });
    const withNote = await requests.send(org, "GET", `${path}?cursor=${noteId}`);
    const [note = "", next = ""] = (await requests.asStaff("GET", `${path}?cursor=${noteId}`)).body.items.map(
      ({ body }: { body: string }) => body,
    );
    expect([note, next]).toEqual([expect.stringContaining("again"), "The last one."]);
    expect(withNote.body.items).toMatchObject([{ body: "The last one." }]);
    const page = await requests.send(org, "GET", `${path}?limit=4`);
    expect([page.body.items.length, page.body.next_cursor]).toEqual([4, null]);
  });

  test("do not fail a change by the version that a tenant read before them", async () => {
    const place = await makePlace();
    const { org, ids } = place;
    const { headers } = await requests.send(org, "GET", `/${ids.ticketID}`);
    await addNotes(place);
    const condition = { "if-match": headers.get("etag") ?? "" };
    const closed = await requests.send(org, "PUT", `/${ids.ticketID}`, { status: "closed" }, condition);
    expect(closed.status).toBe(200);
  });

  test("are in the log of staff, not in that of the organization", async () => {
    const place = await makePlace();
    await addNotes(place);
    const audit = await requests.readAudit(place.ids.ticketID ?? "");
    const notes = audit.filter(({ action }) => action === "ticket.add_note");
    expect(notes.map(({ orgId, actor }) => [orgId, actor.kind])).toEqual([
      [null, "staff"],
      [null, "staff"],
    ]);
  });

  test("give no first response, and do not end the wait of a tenant", async () => {
    const org = await makeOrganization(api, issuer);
    const ticketID = await requests.open(org);
    const before = (await requests.send(org, "GET", `/${ticketID}`)).body;
    await addNotes({ org, ids: { ticketID } });
    expect((await requests.send(org, "GET", `/${ticketID}`)).body).toEqual(before);
    expect(before.first_response_at).toBeNull();
  });
});

/** Fixed unknown ids for every request, where the organization has no such record. */
const UNKNOWN: Record<string, string> = Object.fromEntries(
  ["clusterID", "poolID", "memberID", "tokenID", "accessID", "invitationID", "name"].map((name) => [
    name,
    createId(),
  ]),
);
