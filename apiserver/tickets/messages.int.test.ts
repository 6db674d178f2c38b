import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createId } from "../../shared/program/id.ts";
import { startTestApp, type TestApp, type TestResponse } from "../testing/app.ts";
import { makeOrganization, type Person, type TestIssuer, type TestOrganization } from "../testing/issuer.ts";
import { startTestService } from "../testing/service.ts";
import { listMessages } from "./store.ts";
import { createTicketRequests } from "./testing.ts";

let issuer: TestIssuer;
let api: TestApp;
let staff: Person;
/** Replicas share the database alone. */
let replicas: TestApp[];
let requests: ReturnType<typeof createTicketRequests>;
beforeAll(async () => {
  ({ api, issuer } = await startTestService());
  replicas = [api];
  for (let n = 0; n < 2; n++) replicas.push(await startTestApp({ issuers: [issuer.config], replicaOf: api }));
  staff = await issuer.createStaff();
  requests = createTicketRequests(api, staff);
});
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.close();
});

const write = (org: TestOrganization, id: string, body = "More.", headers = {}) =>
  requests.send(org, "POST", `/${id}/messages`, { body }, headers);
const answer = (id: string, body = "An answer.", headers = {}) =>
  requests.asStaff("POST", `/${id}/messages`, { body }, headers);

function textsOf({ body }: TestResponse): string[] {
  return body.items.map(({ body: text }: { body: string }) => text);
}

describe("a conversation", () => {
  test("is read oldest first by both sides, with the author of each message", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org, { body: "First." });
    const answered = await answer(id, "Second.");
    expect(answered).toMatchObject({
      status: 201,
      body: { ticket_id: id, author_id: staff.userId, author_type: "provider", internal: false },
    });
    expect(answered.headers.get("location")).toBe(`/api/v1/admin/tickets/${id}/messages`);
    const third = await write(org, id, "Third.");
    expect(third.headers.get("location")).toBe(`${org.path}/tickets/${id}/messages`);
    expect(third).toMatchObject({
      status: 201,
      body: { author_id: org.owner.userId, author_type: "tenant" },
    });
    const [tenant, ofStaff] = [
      await requests.send(org, "GET", `/${id}/messages`),
      await requests.asStaff("GET", `/${id}/messages`),
    ];
    expect(textsOf(tenant)).toEqual(["First.", "Second.", "Third."]);
    expect(tenant.body.items[2]).toEqual(third.body);
    const withMark = tenant.body.items.map((message: object) => ({ ...message, internal: false }));
    expect(ofStaff.body.items).toEqual(withMark);
  });

  test("writes each message once per Idempotency-Key, with its event and its audit row", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const key = { "idempotency-key": "once" };
    for (const send of [() => write(org, id, "More.", key), () => answer(id, "An answer.", key)])
      expect((await send()).body).toEqual((await send()).body);
    expect((await requests.readEvents(org)).map((event) => event.last_message_author_type)).toEqual([
      "tenant",
      "tenant",
      "provider",
    ]);
    const { updated_at } = (await requests.send(org, "GET", `/${id}`)).body;
    expect((await requests.readEvents(org)).at(-1)?.updated_at).toBe(updated_at);
    expect((await requests.readAudit(id)).map(({ action, after }) => [action, after?.author_type])).toEqual([
      ["ticket.create", undefined],
      ["ticket.add_message", "tenant"],
      ["ticket.add_message", "provider"],
    ]);
  });

  test("moves a waiting ticket to open by a message of the tenant: one event with its author", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    await answer(id);
    await requests.move(id, "waiting");
    await answer(id, "Still waiting.");
    expect((await requests.send(org, "GET", `/${id}`)).body.status).toBe("waiting");
    await write(org, id);
    const { body } = await requests.send(org, "GET", `/${id}`);
    expect(body.status).toBe("open");
    // The first response was given: the target of a further one applies.
    expect(Date.parse(body.respond_by) - Date.parse(body.updated_at)).toBe(8 * 3_600_000);
    expect((await requests.readEvents(org)).at(-1)).toMatchObject({
      status: "open",
      last_message_author_type: "tenant",
    });
    expect(await requests.readEvents(org)).toHaveLength(5);
  });

  test("changes no status of a resolved ticket, and ends with a closed one: 409", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const { resolved_at } = (await requests.move(id, "resolved")).body;
    expect((await write(org, id)).status).toBe(201);
    expect((await requests.send(org, "GET", `/${id}`)).body).toMatchObject({
      status: "resolved",
      resolved_at,
      respond_by: null,
    });
    await requests.move(id, "closed");
    const note = requests.asStaff("POST", `/${id}/messages`, { body: "A note.", internal: true });
    for (const response of [await write(org, id), await answer(id), await note])
      expect([response.status, response.body.error.code]).toEqual([409, "conflict"]);
    expect((await requests.send(org, "GET", `/${id}/messages`)).body.items).toHaveLength(2);
  });

  test("has its first response by the first public message of staff, once; the tenant waits from its own message on", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org);
    const read = async () => (await requests.send(org, "GET", `/${id}`)).body;
    const opened = await read();
    await write(org, id, "And another thing.");
    expect((await read()).respond_by).toBe(opened.respond_by);
    const first = await answer(id);
    expect(await read()).toMatchObject({ first_response_at: first.body.created_at, respond_by: null });
    const next = await write(org, id);
    const waiting = await read();
    expect(Date.parse(waiting.respond_by) - Date.parse(next.body.created_at)).toBe(8 * 3_600_000);
    await write(org, id, "Hello?");
    expect((await read()).respond_by).toBe(waiting.respond_by);
    await answer(id);
    expect(await read()).toMatchObject({ first_response_at: first.body.created_at, respond_by: null });
  });

  test("a cursor is any UUID, and a page continues after the message with this id", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org, { body: "1" });
    for (const text of ["2", "3", "4", "5"]) await write(org, id, text);
    const page = await requests.send(org, "GET", `/${id}/messages?limit=2`);
    expect(textsOf(page)).toEqual(["1", "2"]);
    const next = await requests.send(org, "GET", `/${id}/messages?limit=2&cursor=${page.body.next_cursor}`);
    expect(textsOf(next)).toEqual(["3", "4"]);
    const latest = await requests.send(org, "GET", `/${id}/messages?cursor=${createId()}`);
    expect(latest.body).toEqual({ items: [], next_cursor: null });
    const nil = await requests.send(
      org,
      "GET",
      `/${id}/messages?cursor=00000000-0000-0000-0000-000000000000`,
    );
    expect(textsOf(nil)).toHaveLength(5);
  });
});

test("no more of long messages is read than a page has room for, and all pages have each message once", async () => {
  const org = await makeOrganization(api, issuer);
  const id = await requests.open(org, { body: "0" });
  // 96 KiB each.
  for (let n = 1; n <= 12; n++) await write(org, id, `${n}${"\u20AC".repeat(32_766)}`);
  const rows = await listMessages(api.deps.db, { id, orgId: org.id }, { internal: false }, { limit: 100 });
  expect(rows).toHaveLength(12);
  const [first, whole] = [await requests.send(org, "GET", `/${id}/messages?limit=100`), [] as string[]];
  const next = await requests.send(org, "GET", `/${id}/messages?limit=100&cursor=${first.body.next_cursor}`);
  for (const page of [first, next]) whole.push(...textsOf(page).map((text) => text.replaceAll("\u20AC", "")));
  expect([first.body.items.length, whole]).toEqual([11, Array.from({ length: 13 }, (_, n) => String(n))]);
  expect(next.body.next_cursor).toBeNull();
});

describe("20 writers on one ticket", () => {
  test("leave one order of messages for everybody, none lost, and one first response", async () => {
    const org = await makeOrganization(api, issuer);
    const id = await requests.open(org, { body: "start" });
    const path = `${org.path}/tickets/${id}/messages`;
    const adminPath = `/api/v1/admin/tickets/${id}/messages`;
    const following = follow(path, org.owner.token, 21);
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const replica = replicas[n % replicas.length] ?? api;
        const [target, token] = n % 2 === 0 ? [path, org.owner.token] : [adminPath, staff.token];
        return replica.request("POST", target, { token, body: { body: `message ${n}` } });
      }),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201));

    const { items } = (await requests.send(org, "GET", `/${id}/messages`)).body;
    expect(items).toHaveLength(21);
    expect(new Set(items.map(({ body }: { body: string }) => body)).size).toBe(21);
    for (const replica of replicas) {
      const ofStaff = await replica.request("GET", adminPath, { token: staff.token });
      expect(textsOf(ofStaff)).toEqual(items.map(({ body }: { body: string }) => body));
    }
    expect(await following).toEqual(items);
    const times = items.map(({ created_at }: { created_at: string }) => created_at);
    expect(times).toEqual(times.toSorted());

    const provider = items.filter(({ author_type }: { author_type: string }) => author_type === "provider");
    const ticket = (await requests.send(org, "GET", `/${id}`)).body;
    expect(ticket.first_response_at).toBe(provider[0].created_at);
    const events = await requests.readEvents(org);
    expect(events).toHaveLength(21);
    expect(new Set(events.map(({ last_message_author_type }) => last_message_author_type))).toEqual(
      new Set(["tenant", "provider"]),
    );
  });
});

/** Reads the messages of a ticket while they arrive, page after page, until there are so many. */
async function follow(path: string, token: string, total: number): Promise<unknown[]> {
  const seen: { id: string }[] = [];
  while (seen.length < total) {
    const last = seen.at(-1);
    const query = last === undefined ? "" : `&cursor=${last.id}`;
    seen.push(...(await api.request("GET", `${path}?limit=3${query}`, { token })).body.items);
  }
  return seen;
}

test("the metrics tell how long tenants waited, and how many tickets are overdue", async () => {
  const org = await makeOrganization(api, issuer);
  const id = await requests.open(org, { severity: "critical" });
  const late = await requests.open(org, { severity: "low" });
  await api.deps.sql`update tickets set respond_by = now() - interval '1 hour' where id = ${late}`;
  await requests.asStaff("POST", `/${id}/messages`, { body: "A note.", internal: true });
  await answer(id);
  await answer(id, "Nobody waited for this one.");
  await write(org, id);
  await answer(id);
  const text = await api.deps.metrics.metrics();
  const responses = (kind: string) =>
    `marina_apiserver_ticket_response_seconds_count{severity="critical",kind="${kind}"} 1`;
  expect(text).toContain(responses("first"));
  expect(text).toContain(responses("next"));
  expect(text).toMatch(/marina_apiserver_tickets_overdue\{severity="low"\} [1-9]/);
  expect(text).toContain('marina_apiserver_tickets_overdue{severity="critical"} 0');
});
