import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_SOURCE } from "../../shared/crd/names.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { eventKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";
import { startSecondApiserver } from "../testing/second-apiserver.ts";
import { createTenant, type Feed, type Tenant } from "../testing/tenant.ts";
import { startPostgres } from "./restart-postgres.ts";
import { DIR, test } from "./shared-stack.ts";

const STREAMS = 500;

let stack: Stack;
let alice: Tenant;
let kube: KubeClient;
let closeKube: () => Promise<void>;
let cluster: Cluster;
let path: string;

test.beforeAll(async ({ stack: shared }) => {
  stack = shared;
  alice = createTenant(stack.info.apiUrl, stack.info.tokens.alice);
  const transport = createTransport({ connection: loadConnection(stack.info.kubeconfig) });
  kube = createClient(transport);
  closeKube = () => transport.close();
  const { body: organization } = await alice.request("POST", "/organizations", { name: "feed faults" });
  const { body } = await alice.request("POST", `/organizations/${organization.id}/clusters`, {
    name: "feed",
    k8s_version: "1.34",
  });
  path = `/organizations/${organization.id}/clusters/${body.id}/system-events`;
  const { items } = await kube.list(clusterKind, { namespace: `org-${organization.id}` });
  const [found] = items;
  if (found === undefined) throw new Error("no cluster");
  cluster = found;
});

afterAll(() => closeKube?.());

/** Creates a numbered Event about the cluster, as the operator does. */
async function createEvent(run: string, number: number): Promise<void> {
  const { name, namespace = "", uid } = cluster.metadata;
  await kube.create(
    eventKind,
    {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: `${run}.${number}`, namespace, labels: { [LABEL_SOURCE]: "machine" } },
      reportingController: "marina-operator",
      reportingInstance: "test",
      action: "Test",
      type: "Normal",
      reason: "Told",
      note: `${run} ${number}`,
      eventTime: `${new Date().toISOString().slice(0, -1)}000Z`,
      regarding: { apiVersion: "cloud.marina.dev/v1", kind: "Cluster", name, namespace, uid },
    },
    { fieldManager: "test" },
  );
}

/** Writes the Event once, however often it is tried: an attempt whose response was lost may have created it. */
async function writeEvent(run: string, number: number): Promise<void> {
  await waitFor(`the Event ${run}.${number} to be written`, async () => {
    try {
      await createEvent(run, number);
    } catch (error) {
      if (!(error instanceof KubeError && error.isAlreadyExists)) throw error;
    }
    return true;
  });
}

/** Writes one Event after the other until `signal` aborts; `count` returns how many. */
function keepWriting(run: string, signal: AbortSignal): { count: () => number; done: Promise<void> } {
  let count = 0;
  const loop = async () => {
    while (!signal.aborted) {
      await writeEvent(run, count);
      count += 1;
      await sleep(50);
    }
  };
  return { count: () => count, done: loop() };
}

/** The numbers of one run's events that a feed has carried, in their order. */
function heardBy(feed: Feed, run: string): number[] {
  return feed.events.flatMap(({ event, data }) => {
    if (event !== "system-event" || !data.message.startsWith(`${run} `)) return [];
    return [Number(data.message.slice(run.length + 1))];
  });
}

const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

/** Harvested in whatever order, but each once: the ids rise, and every number is there. */
async function expectAllOnce(feeds: readonly Feed[], run: string, count: number): Promise<void> {
  await waitFor(`${count} events on ${feeds.length} streams`, () =>
    feeds.every((feed) => heardBy(feed, run).length >= count),
  );
  for (const feed of feeds) {
    expect(heardBy(feed, run).toSorted((a, b) => a - b)).toEqual(numbers(count));
    const ids = feed.events.flatMap(({ event, id }) => (event === "system-event" ? [Number(id)] : []));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
  }
}

test("the harvester's leader killed: another replica takes over, nothing is lost and nothing comes twice", async () => {
  const second = await startSecondApiserver(DIR);
  const feed = createTenant(second.url, stack.info.tokens.alice).follow(`${path}?last_event_id=0`);
  try {
    const stop = new AbortController();
    const writer = keepWriting("leader", stop.signal);
    await waitFor("the leader to harvest", () => heardBy(feed, "leader").length > 10);
    await stack.part("apiserver").kill("SIGKILL");
    const atDeath = writer.count();
    await waitFor("the other one to harvest", () => heardBy(feed, "leader").length > atDeath + 10);
    stop.abort();
    await writer.done;
    await expectAllOnce([feed], "leader", writer.count());
  } finally {
    feed.close();
    await second.stop();
    await stack.part("apiserver").start();
  }
});

test("Postgres killed and restarted under 500 streams: each continues, with every event once", async () => {
  const { pid } = stack.part("apiserver");
  const feeds = Array.from({ length: STREAMS }, () => alice.follow(`${path}?last_event_id=0`));
  try {
    await waitFor("all streams to be open", () => feeds.every(({ events }) => events.length > 0));
    const stop = new AbortController();
    const writer = keepWriting("postgres", stop.signal);
    await waitFor("events", () => feeds.every((feed) => heardBy(feed, "postgres").length > 5));
    await stack.part("postgres").kill("SIGKILL");
    const atKill = writer.count();
    await waitFor("events while Postgres is down", () => writer.count() > atKill + 20);
    await startPostgres(stack);
    const atRestart = writer.count();
    await waitFor("events after its restart", () => writer.count() > atRestart + 5);
    stop.abort();
    await writer.done;
    await expectAllOnce(feeds, "postgres", writer.count());
    expect(feeds.flatMap(({ events }) => events.filter(({ event }) => event === "gap"))).toEqual([]);
    expect(stack.part("apiserver").pid).toBe(pid);
  } finally {
    for (const feed of feeds) feed.close();
  }
});

test("the Kubernetes API away: open streams stay, new ones replay, and what happens afterwards comes", async () => {
  const open = alice.follow(`${path}?last_event_id=0`);
  const opened: Feed[] = [open];
  try {
    await writeEvent("kubernetes", 0);
    await waitFor("the first event", () => heardBy(open, "kubernetes").length === 1);
    await stack.part("kube-apiserver").kill("SIGKILL");
    const late = alice.follow(`${path}?last_event_id=0`);
    opened.push(late);
    await waitFor("the replay", () => heardBy(late, "kubernetes").length === 1);
    expect((await alice.request("GET", path, undefined, { accept: "application/json" })).status).toBe(200);
    await stack.part("kube-apiserver").start();
    await writeEvent("kubernetes", 1);
    await expectAllOnce([open, late], "kubernetes", 2);
  } finally {
    for (const feed of opened) feed.close();
  }
});
