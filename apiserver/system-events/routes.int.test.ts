import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { LABEL_CLUSTER_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { type Event, eventKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { countLockWaits } from "../db/testing.ts";
import { appendFeedEvents, findEventRanges, listEventsAfter, purgeFeedEvents } from "../events/feed.ts";
import { findCluster, projectObservations } from "../resources/project/index.ts";
import { startTestApp } from "../testing/app.ts";
import { startHarvester } from "./harvest/harvester.ts";
import { aStatus, openStream, type TestStream } from "./testing.ts";

const api = setUp(startTestApp);
let orgId: string;
const opened: TestStream[] = [];

beforeAll(async () => {
  orgId = await api.createOrganization();
});
afterAll(async () => {
  await Promise.all(opened.map((stream) => stream.close()));
});

let count = 0;
async function createCluster(): Promise<string> {
  count += 1;
  const body = { name: `Cluster ${count}`, k8s_version: "1.34", plan: "scale" };
  const response = await api.request("POST", `/api/v1/organizations/${orgId}/clusters`, { body });
  return response.body.id;
}

const pathOf = (clusterId: string) => `/api/v1/organizations/${orgId}/clusters/${clusterId}/system-events`;

function append(clusterId: string, ...statuses: string[]) {
  const events = statuses.map((status) => aStatus({ orgId, clusterId }, status));
  return api.deps.db.transaction((tx) => appendFeedEvents(tx, events));
}

/** Opens a stream of alice's and reads it as long as it lasts. */
async function open(clusterId: string, lastEventId?: number): Promise<TestStream> {
  const stream = await openStream(api, pathOf(clusterId), {
    authorization: `Bearer ${readStack().tokens.alice}`,
    ...(lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) }),
  });
  expect(stream.status).toBe(200);
  opened.push(stream);
  return stream;
}

describe("the stream", () => {
  test("holds nothing of its request while it is open", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage: () => void = runInNewContext("gc");
    const path = pathOf(await createCluster());
    const begin = async () => {
      const environment = {};
      const headers = { authorization: `Bearer ${readStack().tokens.alice}` };
      const { body } = await api.app.request(path, { headers }, environment);
      return { body, environment: new WeakRef(environment) };
    };
    const stream = await begin();
    const isHeld = () => {
      collectGarbage();
      return stream.environment.deref() !== undefined;
    };
    await expect.poll(isHeld).toBe(false);
    await stream.body?.cancel();
  });

  test("is not buffered by proxies, and sends what happens from now on", async () => {
    const clusterId = await createCluster();
    const stream = await open(clusterId);
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    expect(stream.headers.get("x-accel-buffering")).toBe("no");
    expect(stream.headers.get("etag")).toBeNull();
    // Earlier events are not sent; the stream starts at the position of its first read of the table.
    await expect.poll(() => nudge(clusterId, stream)).toBeGreaterThan(0);
    expect(stream.messages.every(({ data }) => data.status === "nudge")).toBe(true);
  });

  test("begins with the present state, as the record has it", async () => {
    const clusterId = await createCluster();
    const [first, resumed] = [await open(clusterId), await open(clusterId, 0)];
    const { body } = await api.request("GET", pathOf(clusterId).replace("/system-events", ""));
    const state = {
      node_pool_id: null,
      status: body.status,
      previous_status: null,
      message: body.status_message,
    };
    for (const stream of [first, resumed]) {
      await expect.poll(() => stream.states.length).toBe(1);
      expect(stream.states).toMatchObject([
        { event: "status", id: undefined, data: { ...state, cluster_id: clusterId } },
      ]);
    }
  });

  test("resumes after Last-Event-ID without gap or repeat, in order", async () => {
    const clusterId = await createCluster();
    const newest = await findNewest(clusterId);
    const stream = await open(clusterId, newest);
    const expected = Array.from({ length: 40 }, (_, index) => `s${index}`);
    await Promise.all(expected.map((status) => append(clusterId, status)));
    await expect.poll(() => stream.messages.length).toBe(40);
    expect(new Set(stream.messages.map(({ data }) => data.status))).toEqual(new Set(expected));
    const ids = stream.messages.map(({ id }) => id ?? 0);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const half = await open(clusterId, ids[19]);
    await expect.poll(() => half.messages.length).toBe(20);
    expect(half.messages).toEqual(stream.messages.slice(20));
  });

  test("reports when it cannot resume", async () => {
    const clusterId = await createCluster();
    const newest = await findNewest(clusterId);
    const stream = await open(clusterId, newest + 1_000);
    await expect.poll(() => stream.messages.map(({ event }) => event)).toEqual(["gap"]);
  });

  test("has all events of its cluster alone, counted by their ids; a cause waits for others of its cluster alone", async () => {
    const one = await createCluster();
    const [two, a, b] = [createId(), createId(), createId()];
    const newest = await findNewest(one);
    const stream = await open(one, newest);
    const [appended, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    onTestFinished(() => held.resolve());
    const cause = (clusterIds: readonly string[], until?: Promise<void>) =>
      api.deps.db.transaction(async (tx) => {
        const events = clusterIds.map((clusterId) => aStatus({ orgId, clusterId }, "caused"));
        await appendFeedEvents(tx, events);
        appended.resolve();
        await until;
      });
    const causes = [cause([one, two], held.promise)];
    await appended.promise;
    await append(a, "meanwhile");
    // Two that locked their clusters in these orders would wait for each other, once the first has committed.
    const orders = { second: [a, one, b], third: [b, two, a] };
    const isWaiting = async () => (await countLockWaits(api.deps.sql)) === causes.length - 1;
    for (const clusterIds of Object.values(orders)) {
      causes.push(cause(clusterIds));
      await waitFor("it to wait", isWaiting);
    }
    held.resolve();
    await Promise.all(causes);
    const seen = () => stream.messages.map(({ id, data }) => [id, data.status]);
    await expect.poll(seen).toEqual([1, 2].map((n) => [newest + n, "caused"]));
  });

  test("ends with deleted when the cluster is deleted", async () => {
    const clusterId = await createCluster();
    const newest = await findNewest(clusterId);
    const stream = await open(clusterId, newest);
    const cluster = await findCluster(api.deps.db, orgId, clusterId);
    if (cluster === undefined) throw new Error("no cluster");
    await append(clusterId, "last words");
    await api.deps.db.transaction((tx) => projectObservations(tx, [{ object: cluster, deleted: true }]));
    await stream.ended;
    expect(stream.messages.map(({ event }) => event)).toEqual(["status", "deleted"]);
    expect((await api.request("GET", pathOf(clusterId))).status).toBe(404);
  });
});

async function findNewest(clusterId: string): Promise<number> {
  const ranges = await findEventRanges(api.deps.db, [clusterId]);
  return ranges.get(clusterId)?.newest ?? 0;
}

async function nudge(clusterId: string, stream: TestStream): Promise<number> {
  await append(clusterId, "nudge");
  return stream.messages.length;
}

describe("the history of the stream", () => {
  test("is paged, oldest first, by positions that look like ids", async () => {
    const clusterId = await createCluster();
    await append(clusterId, "one", "two", "three");
    const headers = { accept: "application/json" };
    const statuses: string[] = [];
    let cursor = "";
    do {
      const response = await api.request("GET", `${pathOf(clusterId)}?limit=2${cursor}`, { headers });
      expect(response.status).toBe(200);
      statuses.push(...response.body.items.map((item: { data: { status: string } }) => item.data.status));
      cursor = response.body.next_cursor === null ? "" : `&cursor=${response.body.next_cursor}`;
    } while (cursor !== "");
    expect(statuses).toEqual(["provisioning", "one", "two", "three"]);
    const bad = await api.request("GET", `${pathOf(clusterId)}?cursor=${createId()}`, { headers });
    expect(bad.status).toBe(400);
  });

  test("is refused to non-members, and to members without the permission", async () => {
    const clusterId = await createCluster();
    expect((await api.request("GET", pathOf(clusterId), { as: "staff" })).status).toBe(404);
    await api.addMember(orgId, "bob", "billing");
    expect((await api.request("GET", pathOf(clusterId), { as: "bob" })).status).toBe(403);
  });

  test("holds no event after the retention", async () => {
    const clusterId = await createCluster();
    await append(clusterId, "old");
    await api.deps
      .sql`update system_events set recorded_at = now() - interval '8 days' where cluster_id = ${clusterId}`;
    await purgeFeedEvents(api.deps.db, 7);
    expect(await listEventsAfter(api.deps.db, { orgId, clusterId }, 0, 10)).toEqual([]);
  });
});

describe("the harvester", () => {
  test("stores each increase of an Event's count once, with the name that its owner gave the cluster, and no Event that regards another's object", async () => {
    const clusterId = await createCluster();
    const cluster = await findCluster(api.deps.db, orgId, clusterId);
    if (cluster === undefined) throw new Error("no cluster");
    const stop = new AbortController();
    const harvester = startHarvester(api.deps, stop.signal);
    const { name, namespace, uid } = cluster;
    const now = `${new Date().toISOString().slice(0, -1)}000Z`;
    const event = (eventName: string, regardingUid: string): Event => ({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: {
        name: eventName,
        namespace,
        labels: { [LABEL_CLUSTER_ID]: clusterId, [LABEL_SOURCE]: "machine" },
      },
      reportingController: "marina-operator",
      reportingInstance: "test",
      action: "Test",
      type: "Normal",
      reason: "SeenByTest",
      note: "it happened",
      eventTime: now,
      regarding: { apiVersion: "cloud.marina.dev/v1", kind: "Cluster", name, namespace, uid: regardingUid },
    });
    const { kube } = api.deps;
    const newest = await findNewest(clusterId);
    await kube.create(eventKind, event("foreign", crypto.randomUUID()), { fieldManager: "test" });
    await kube.create(eventKind, event("own", uid), { fieldManager: "test" });
    const counts = async () => {
      const rows = await listEventsAfter(api.deps.db, { orgId, clusterId }, newest, 100);
      return rows.flatMap(({ payload }) =>
        "reason" in payload && payload.reason === "SeenByTest" && payload.object.name === cluster.displayName
          ? [payload.count]
          : [],
      );
    };
    await expect.poll(counts).toEqual([1]);
    const series = { count: 2, lastObservedTime: now };
    await kube.mergePatch(eventKind, namespace, "own", { series }, { fieldManager: "test" });
    await expect.poll(counts).toEqual([1, 2]);
    stop.abort();
    await harvester.stopped;

    const again = new AbortController();
    const second = startHarvester(api.deps, again.signal);
    await kube.create(eventKind, event("later", uid), { fieldManager: "test" });
    await expect.poll(counts).toEqual([1, 2, 1]);
    again.abort();
    await second.stopped;
  });
});
