import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createLogger } from "../../shared/log.ts";
import { mintFor } from "../api-tokens/testing.ts";
import { startBackground } from "../background.ts";
import { createId } from "../http/id.ts";
import { startTestApp, type TestApp } from "../http/testing.ts";
import { addPerson, makeOrganization, type Person, startTestIssuer, type TestIssuer } from "../testing.ts";
import { appendEvents } from "./store.ts";
import { aStatus, openStream, type TestStream } from "./testing.ts";

/** Two replicas of one service. */
let one: TestApp;
let other: TestApp;
let issuer: TestIssuer;
let owner: Person;
let orgId: string;
let clusterId: string;
let path: string;
const lines: string[] = [];
const opened: TestStream[] = [];
/** What a test has changed for its own time. */
const undone: (() => void)[] = [];

beforeAll(async () => {
  issuer = await startTestIssuer();
  const log = createLogger({
    name: "test",
    level: "trace",
    destination: { write: (line) => void lines.push(line) },
  });
  one = await startTestApp({ issuers: [issuer.config], log });
  other = await startTestApp({ issuers: [issuer.config], replicaOf: one, log });
  const organization = await makeOrganization(one, issuer);
  orgId = organization.id;
  owner = organization.owner;
  clusterId = await createCluster("streams");
  path = pathOf(clusterId);
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((stream) => stream.close()));
  for (const undo of undone.splice(0)) undo();
});

afterAll(async () => {
  await other.close();
  await one.close();
  issuer.close();
});

const pathOf = (id: string) => `/api/v1/organizations/${orgId}/clusters/${id}/system-events`;

async function createCluster(name: string): Promise<string> {
  const answer = await one.request("POST", `/api/v1/organizations/${orgId}/clusters`, {
    token: owner.token,
    body: { name, k8s_version: "1.34", plan: "scale" },
  });
  expect(answer.status).toBe(202);
  return answer.body.id;
}

async function open(
  api: TestApp,
  credential: { token: string } | { ticket: string },
  id = clusterId,
): Promise<TestStream> {
  const stream =
    "ticket" in credential
      ? await openStream(api, `${pathOf(id)}?ticket=${credential.ticket}`)
      : await openStream(api, pathOf(id), { authorization: `Bearer ${credential.token}` });
  opened.push(stream);
  return stream;
}

async function makeTicket(token = owner.token): Promise<string> {
  const answer = await one.request("POST", `${path}/ticket`, { token });
  expect(answer.status).toBe(201);
  return answer.body.ticket;
}

function setConfig(api: TestApp, changes: Partial<TestApp["deps"]["config"]["systemEvents"]>): void {
  const { config } = api.deps;
  api.deps.config = { ...config, systemEvents: { ...config.systemEvents, ...changes } };
  undone.unshift(() => {
    api.deps.config = config;
  });
}

/** Lets the clock of a replica run ahead. */
function wait(api: TestApp, ms: number): void {
  const { now } = api.deps;
  api.deps.now = () => new Date(now().getTime() + ms);
  undone.unshift(() => {
    api.deps.now = now;
  });
}

const eventsOf = ({ messages }: TestStream) => messages.map(({ event }) => event);

async function makeMember(role: "viewer" | "billing" = "viewer") {
  const person = await issuer.createPerson();
  return { person, memberId: await addPerson(one.deps, orgId, person, role) };
}

const removeMember = (memberId: string) =>
  one.request("DELETE", `/api/v1/organizations/${orgId}/members/${memberId}`, { token: owner.token });

describe("replicas", () => {
  test("each serves the events that any of them has seen", async () => {
    const streams = [await open(one, owner), await open(other, owner)];
    await one.deps.db.transaction((tx) => appendEvents(tx, [aStatus(clusterId, "by one")]));
    await other.deps.db.transaction((tx) => appendEvents(tx, [aStatus(clusterId, "by other")]));
    for (const { messages } of streams) {
      await expect
        .poll(() => messages.map(({ data }) => data.status), { timeout: 10_000 })
        .toEqual(["by one", "by other"]);
    }
  });

  test("what is announced while nobody listens is read when the connection is back", async () => {
    const stream = await open(other, owner);
    const cut = await one.deps.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ilike 'listen %'`;
    expect(cut.length).toBeGreaterThan(0);
    await one.deps.db.transaction((tx) => appendEvents(tx, [aStatus(clusterId, "unheard")]));
    await expect.poll(() => stream.messages.at(-1)?.data.status, { timeout: 10_000 }).toBe("unheard");
    expect(stream.messages).toHaveLength(1);
  });
});

describe("the number of streams", () => {
  test("is bounded for a principal and for the process, with 429 and Retry-After; one that ends makes room", async () => {
    const { person } = await makeMember();
    setConfig(other, { maxStreamsPerPrincipal: 2 });
    const [first] = [await open(other, person), await open(other, person)];
    const third = await other.request("GET", path, { token: person.token });
    expect(third).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
    expect(Number(third.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await open(other, owner)).status).toBe(200);
    await first.close();
    expect((await open(other, person)).status).toBe(200);

    setConfig(other, { maxStreams: 1 });
    expect((await other.request("GET", path, { token: owner.token })).status).toBe(429);
  });

  test("counts no answer without a stream: history, HEAD and refusals", async () => {
    setConfig(other, { maxStreamsPerPrincipal: 1 });
    const { person } = await makeMember();
    const json = { accept: "application/json" };
    expect((await other.request("GET", path, { token: person.token, headers: json })).status).toBe(200);
    const head = await other.request("HEAD", path, { token: person.token });
    expect(head.status).toBe(200);
    expect(head.headers.get("content-type")).toBe("text/event-stream");
    expect((await other.request("GET", pathOf(createId()), { token: person.token })).status).toBe(404);
    expect((await open(other, person)).status).toBe(200);
  });
});

describe("a stream ends with bye", () => {
  test("within 30 s after access was withdrawn", async () => {
    const { person, memberId } = await makeMember();
    const [gone, stays] = [await open(other, person), await open(other, owner)];
    expect((await removeMember(memberId)).status).toBe(204);
    wait(other, 30_000);
    await gone.ended;
    expect(gone.messages).toEqual([{ event: "bye", id: undefined, data: { reason: "access_withdrawn" } }]);
    expect(eventsOf(stays)).toEqual([]);
  });

  test("when the credential ends", async () => {
    const stream = await open(other, owner);
    wait(other, 2 * 3_600_000);
    await stream.ended;
    expect(stream.messages).toEqual([{ event: "bye", id: undefined, data: { reason: "token_expired" } }]);
  });

  test("when the program ends", async () => {
    const replica = await startTestApp({ issuers: [issuer.config], replicaOf: one });
    const stream = await open(replica, owner);
    await replica.close();
    await stream.ended;
    expect(stream.messages).toEqual([{ event: "bye", id: undefined, data: { reason: "shutting_down" } }]);
  });
});

describe("a ticket", () => {
  test("opens the stream once, on any replica, within 30 s, and is in no log", async () => {
    const answer = await one.request("POST", `${path}/ticket`, { token: owner.token });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("location")).toBe(path);
    const { ticket, expires_at: expiresAt } = answer.body;
    expect(Date.parse(expiresAt) - Date.now()).toBeLessThanOrEqual(31_000);
    const stream = await open(other, { ticket });
    expect(stream.status).toBe(200);
    await other.deps.db.transaction((tx) => appendEvents(tx, [aStatus(clusterId, "seen")]));
    await expect.poll(() => stream.messages.at(-1)?.data.status, { timeout: 10_000 }).toBe("seen");
    for (const api of [one, other]) {
      const again = await api.request("GET", `${path}?ticket=${ticket}`, { as: null });
      expect(again).toMatchObject({ status: 401, body: { error: { code: "unauthorized" } } });
    }
    const written = lines.join("");
    expect(written).toContain(`${path}/ticket`);
    expect(written).not.toContain(ticket);
  });

  test.each(["", "worthless", "A".repeat(43)])("that nobody made (%j) is 401", async (ticket) => {
    const answer = await one.request("GET", `${path}?ticket=${ticket}`, { as: null });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
  });

  test("opens no other cluster's stream and no other operation", async () => {
    const ticket = await makeTicket();
    const foreign = pathOf(await createCluster("other"));
    for (const target of [
      foreign,
      `/api/v1/organizations/${orgId}/clusters/${clusterId}`,
      `${path}/ticket`,
    ]) {
      const method = target.endsWith("ticket") ? "POST" : "GET";
      expect((await one.request(method, `${target}?ticket=${ticket}`, { as: null })).status).toBe(401);
    }
    expect((await open(one, { ticket })).status).toBe(200);
  });

  test("is of no use after 30 s", async () => {
    const ticket = await makeTicket();
    await one.deps.sql`update stream_tickets set expires_at = expires_at - interval '30 seconds'`;
    expect((await open(one, { ticket })).status).toBe(401);
  });

  test("gives what its maker may do when it is used, and not longer", async () => {
    const { person, memberId } = await makeMember();
    const [first, second] = [await makeTicket(person.token), await makeTicket(person.token)];
    const stream = await open(other, { ticket: first });
    await removeMember(memberId);
    expect((await open(other, { ticket: second })).status).toBe(404);
    wait(other, 30_000);
    await stream.ended;
    expect(eventsOf(stream)).toEqual(["bye"]);
  });

  test("of an API token ends with the token", async () => {
    const { id, text } = await mintFor(one.deps, owner, orgId, { role: "viewer", scopes: ["events:read"] });
    const [first, second] = [await makeTicket(text), await makeTicket(text)];
    expect((await open(one, { ticket: first })).status).toBe(200);
    const removal = await one.request("DELETE", `/api/v1/organizations/${orgId}/api-tokens/${id}`, {
      token: owner.token,
    });
    expect(removal.status).toBe(204);
    expect((await open(one, { ticket: second })).status).toBe(404);
  });

  test("is made for those alone who may read the stream", async () => {
    const { person } = await makeMember("billing");
    expect((await one.request("POST", `${path}/ticket`, { token: person.token })).status).toBe(403);
    const { token } = await issuer.createPerson();
    expect((await one.request("POST", `${path}/ticket`, { token })).status).toBe(404);
  });
});

describe("with the harvester switched off", () => {
  test("the feed, its history and its tickets are 503, after 401, 404, 403 and 400", async () => {
    setConfig(other, { isEnabled: false });
    const { person } = await makeMember("billing");
    const ask = (target: string, token: string | null, accept = "text/event-stream", method = "GET") =>
      other.request(method, target, {
        ...(token === null ? { as: null } : { token }),
        headers: { accept },
      });
    const off = { status: 503, body: { error: { code: "event_harvester_disabled" } } };
    expect(await ask(path, owner.token)).toMatchObject(off);
    expect(await ask(path, owner.token, "application/json")).toMatchObject(off);
    expect(await ask(`${path}/ticket`, owner.token, "*/*", "POST")).toMatchObject(off);
    expect((await ask(path, null)).status).toBe(401);
    expect((await ask(path, person.token)).status).toBe(403);
    expect((await ask(`${path}?surprise=1`, owner.token)).status).toBe(400);
    expect((await ask(pathOf(createId()), owner.token)).status).toBe(404);
  });

  test("nothing is harvested", async () => {
    setConfig(other, { isEnabled: false });
    const signal = AbortSignal.timeout(60_000);
    // Resolves when all loops have ended: at once where there is none.
    await startBackground({ ...other.deps, config: { ...other.deps.config, roles: ["harvester"] } }, signal);
    expect(signal.aborted).toBe(false);
  });
});
