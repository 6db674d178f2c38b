import { connect } from "node:net";
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { createId } from "../../../shared/program/id.ts";
import { mintFor } from "../../api-tokens/testing.ts";
import { startBackground } from "../../background.ts";
import { forTenant } from "../../db/pool.ts";
import { appendFeedEvents } from "../../events/feed.ts";
import { listen } from "../../http/server/server.ts";
import { createGroupPerson, mapGroup, passTime } from "../../members/groups/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { aStatus, eventsOf, startFeedTest } from "../testing.ts";

const feed = setUp(startFeedTest);
/** Two replicas of one service, and what is in it. */
let { one, other, owner, orgId, clusterId, path } = feed;
beforeAll(() => {
  ({ one, other, owner, orgId, clusterId, path } = feed);
});
afterEach(() => feed.restore());

describe("replicas", () => {
  test("each serves the events that any of them has observed", async () => {
    const streams = [await feed.open(one, owner), await feed.open(other, owner)];
    await one.deps.db.transaction((tx) => appendFeedEvents(tx, [aStatus({ orgId, clusterId }, "by one")]));
    await other.deps.db.transaction((tx) =>
      appendFeedEvents(tx, [aStatus({ orgId, clusterId }, "by other")]),
    );
    for (const { messages } of streams) {
      await expect.poll(() => messages.map(({ data }) => data.status)).toEqual(["by one", "by other"]);
    }
  });

  test("what is announced while the connection is down is read when it is back", async () => {
    const stream = await feed.open(other, owner);
    // A stream is open before its replica listens.
    await waitFor("a connection that listens to be cut", async () => {
      const cut = await one.deps.sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query ilike 'listen %'`;
      return cut.length > 0;
    });
    await one.deps.db.transaction((tx) => appendFeedEvents(tx, [aStatus({ orgId, clusterId }, "unheard")]));
    await expect.poll(() => stream.messages.at(-1)?.data.status).toBe("unheard");
    expect(stream.messages).toHaveLength(1);
  });
});

test("an open stream goes on while its organization holds its whole share of the connections", async () => {
  const stream = await feed.open(one, owner);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  onTestFinished(() => end());
  const ofTenant = forTenant(one.deps.db, { tenant: orgId, signal: undefined });
  const holder = ofTenant.transaction(() => ended);
  await one.deps.db.transaction((tx) => appendFeedEvents(tx, [aStatus({ orgId, clusterId }, "meanwhile")]));
  await expect.poll(() => stream.messages.at(-1)?.data.status).toBe("meanwhile");
  end();
  await holder;
});

describe("the number of streams", () => {
  test("is limited for a principal and for the process, with 429 and Retry-After; one that ends frees its slot", async () => {
    const { person } = await feed.makeMember();
    feed.setConfig(other, { maxStreamsPerPrincipal: 2 });
    const [first] = [await feed.open(other, person), await feed.open(other, person)];
    const third = await other.request("GET", path, { token: person.token });
    expect(third).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
    expect(Number(third.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await feed.open(other, owner)).status).toBe(200);
    await first.close();
    expect((await feed.open(other, person)).status).toBe(200);

    feed.setConfig(other, { maxStreams: 1 });
    expect((await other.request("GET", path, { token: owner.token })).status).toBe(429);
  });

  test("is limited for a person with all API tokens, and for an organization", async () => {
    const { person } = await feed.makeMember();
    const scopes = ["events:read"] as const;
    const mint = () => mintFor(other.deps, person, orgId, { role: "viewer", scopes: [...scopes] });
    const tokens = [await mint(), await mint(), await mint()].map(({ text }) => ({ token: text }));
    feed.setConfig(other, { maxStreamsPerUser: 2 });
    const statuses: number[] = [];
    for (const token of tokens.slice(0, 2)) statuses.push((await feed.open(other, token)).status);
    statuses.push((await other.request("GET", path, tokens[2])).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await feed.open(other, owner)).status).toBe(200);

    feed.setConfig(other, { maxStreamsPerOrganization: 3 });
    const { person: another } = await feed.makeMember();
    const refused = await other.request("GET", path, { token: another.token });
    expect(refused).toMatchObject({ status: 429, body: { error: { code: "rate_limited" } } });
  });

  test("counts no response without a stream: history, HEAD and refusals", async () => {
    feed.setConfig(other, { maxStreamsPerPrincipal: 1 });
    const { person } = await feed.makeMember();
    const json = { accept: "application/json" };
    expect((await other.request("GET", path, { token: person.token, headers: json })).status).toBe(200);
    const head = await other.request("HEAD", path, { token: person.token });
    expect(head.status).toBe(200);
    expect(head.headers.get("content-type")).toBe("text/event-stream");
    expect((await other.request("GET", feed.pathOf(createId()), { token: person.token })).status).toBe(404);
    expect((await feed.open(other, person)).status).toBe(200);
  });
});

describe("a client that does not read", () => {
  test("is cut off after 30 s, and one that reads goes on", async () => {
    const deep = await feed.createCluster("deep");
    // More than the sockets between both can hold.
    await one.deps.sql`with rows as (select n from generate_series(1, 10000) as n), counter as (
        insert into system_event_counters values (${deep}, 20000)
          on conflict (cluster_id) do update set last_id = 20000)
      insert into system_events (id, cluster_id, kind, payload)
      select 10000 + n, ${deep}, 'status', jsonb_build_object('status', 'running', 'message', repeat('x', 1000), 'at', now())
        from rows`;
    const server = await listen(other.app.fetch, {
      address: "127.0.0.1",
      port: 0,
      limits: other.deps.config.limits,
      shutdownDelayMs: 0,
    });
    const reading = await feed.open(other, owner, deep);
    const socket = connect(Number(new URL(server.address).port), "127.0.0.1").pause();
    const head = [
      `GET ${feed.pathOf(deep)} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${owner.token}`,
    ];
    socket.write([...head, "Last-Event-ID: 0", "", ""].join("\r\n"));
    const figure = async (name: string) =>
      new RegExp(`^marina_apiserver_event_streams${name} (\\d+)$`, "m").exec(
        await other.deps.metrics.metrics(),
      )?.[1];
    await expect.poll(() => figure("")).toBe("2");
    const isCutOff = async () => {
      feed.wait(other, 31_000);
      return figure("_cut_off_total");
    };
    await expect.poll(isCutOff, { interval: 1_000 }).toBe("1");
    expect(await figure("")).toBe("1");
    await one.deps.db.transaction((tx) =>
      appendFeedEvents(tx, [aStatus({ orgId, clusterId: deep }, "still here")]),
    );
    await expect.poll(() => reading.messages.at(-1)?.data.status).toBe("still here");
    socket.destroy();
    await server.drain(1000);
  });
});

test("the response of a stream says that its connection is not used again, and a refusal how long it is kept", async () => {
  const limits = other.deps.config.limits;
  const server = await listen(other.app.fetch, {
    address: "127.0.0.1",
    port: 0,
    limits,
    shutdownDelayMs: 5000,
  });
  onTestFinished(() => server.drain(1000));
  const url = `${server.address}${feed.pathOf(await feed.createCluster("again"))}`;
  feed.setConfig(other, { maxStreamsPerPrincipal: 1 });
  const read = (method: string) =>
    fetch(url, { method, headers: { authorization: `Bearer ${owner.token}` } });
  const [head, stream, refusal] = [await read("HEAD"), await read("GET"), await read("GET")];
  for (const { headers } of [head, stream]) {
    expect(headers.get("connection")).toBe("close");
    expect(headers.get("keep-alive")).toBeNull();
  }
  expect(refusal.status).toBe(429);
  expect(refusal.headers.get("keep-alive")).toBe("timeout=4");
  await stream.body?.cancel();
});

describe("a stream ends with bye", () => {
  test("within 30 s after access was withdrawn", async () => {
    const { person, memberId } = await feed.makeMember();
    const [withdrawn, stays] = [await feed.open(other, person), await feed.open(other, owner)];
    expect((await feed.removeMember(memberId)).status).toBe(204);
    feed.wait(other, 30_000);
    await withdrawn.ended;
    expect(withdrawn.messages).toEqual([
      { event: "bye", id: undefined, data: { reason: "access_withdrawn" } },
    ]);
    expect(eventsOf(stays)).toEqual([]);
  });

  test("within 30 s after the end of a membership by a group", async () => {
    const { group } = await mapGroup(other.deps, feed.issuer.config.issuer, feed.orgId, "member");
    const person = await createGroupPerson(feed.issuer, group);
    const stream = await feed.open(other, person);
    await passTime(other.deps, feed.orgId, person, 2 * 86_400);
    feed.wait(other, 30_000);
    await stream.ended;
    expect(stream.messages).toEqual([{ event: "bye", id: undefined, data: { reason: "access_withdrawn" } }]);
  });

  test("when the credential ends", async () => {
    const stream = await feed.open(other, owner);
    feed.wait(other, 13 * 3_600_000);
    await stream.ended;
    expect(stream.messages).toEqual([{ event: "bye", id: undefined, data: { reason: "token_expired" } }]);
  });

  test("when the program ends", async () => {
    const replica = await startTestApp({ issuers: [feed.issuer.config], replicaOf: one });
    const stream = await feed.open(replica, owner);
    await replica.close();
    await stream.ended;
    expect(stream.messages).toEqual([{ event: "bye", id: undefined, data: { reason: "shutting_down" } }]);
  });
});

describe("with the harvester switched off", () => {
  test("the feed, its history and its tickets are 503, after 401, 404, 403 and 400", async () => {
    feed.setConfig(other, { isEnabled: false });
    const { person } = await feed.makeMember("billing");
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
    expect((await ask(feed.pathOf(createId()), owner.token)).status).toBe(404);
  });

  test("nothing is harvested", async () => {
    feed.setConfig(other, { isEnabled: false });
    const signal = AbortSignal.timeout(60_000);
    // Resolves when all loops have ended: at once where there is none.
    await startBackground({ ...other.deps, config: { ...other.deps.config, roles: ["harvester"] } }, signal);
    expect(signal.aborted).toBe(false);
  });
});
