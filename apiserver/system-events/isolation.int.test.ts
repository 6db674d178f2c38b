import { eq, inArray } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_HOLD,
  ANNOTATION_IDENTITY,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_RECREATE,
  ANNOTATION_REPLACE_PREFIX,
  ANNOTATION_REQUEST_ID,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_NODE_POOL_ID,
  LABEL_ORG_ID,
  LABEL_SOURCE,
} from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { type Event, eventKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { createId } from "../../shared/program/id.ts";
import { auditLog } from "../audit/table.ts";
import { appendFeedEvents, listEventsAfter } from "../events/feed.ts";
import { feedEvents } from "../events/table.ts";
import { startProjector } from "../resources/project/projector.ts";
import { clusterRecords, nodePoolRecords, transitions } from "../resources/project/table.ts";
import { startTestApp } from "../testing/app.ts";
import { startHarvester } from "./harvest/harvester.ts";
import { aStatus } from "./testing.ts";

const POOL_SPEC = { vcpus: 1, memoryGB: 1, diskGB: 10, minNodes: 1, maxNodes: 3, desiredNodes: 1 };

interface Side {
  orgId: string;
  namespace: string;
  cluster: Cluster;
  pool: NodePool;
  clusterId: string;
  poolId: string;
  /** A text that the tenant of this side puts wherever it can. */
  text: string;
}

const api = setUp(startTestApp);
let sides: [Side, Side];
const stop = new AbortController();
const stopped: Promise<void>[] = [];

beforeAll(async () => {
  stopped.push(startProjector(api.deps, stop.signal).stopped);
  stopped.push(startHarvester(api.deps, stop.signal).stopped);
  sides = [await makeSide("text-of-one"), await makeSide("text-of-other")];
  await Promise.all([attack(sides[0], sides[1]), attack(sides[1], sides[0])]);
  for (const side of sides) await follow(side);
});
afterAll(async () => {
  stop.abort();
  await Promise.all(stopped);
});

/** An organization with a cluster and a pool of its own. */
async function makeSide(text: string): Promise<Side> {
  const orgId = await api.createOrganization();
  const namespace = `org-${orgId}`;
  const body = {
    name: "shop",
    k8s_version: "1.34",
    plan: "scale",
    node_pools: [{ name: "web", vcpus: 1, memory_gb: 1, disk_gb: 10, desired_nodes: 1 }],
  };
  const made = await api.request("POST", `/api/v1/organizations/${orgId}/clusters`, { body });
  const [cluster] = await api.deps.kube.listAll(clusterKind, { namespace });
  const [pool] = await api.deps.kube.listAll(nodePoolKind, { namespace });
  if (cluster === undefined || pool === undefined) throw new Error("not made");
  const poolId = pool.metadata.labels?.[LABEL_ID] ?? "";
  return { orgId, namespace, cluster, pool, clusterId: made.body.id, poolId, text };
}

/** Every id of the other side on objects of every kind, with every annotation, in the Namespace of this side. */
async function attack(own: Side, other: Side): Promise<void> {
  const { text, namespace } = own;
  const labels = {
    [LABEL_ORG_ID]: other.orgId,
    [LABEL_CLUSTER_ID]: other.clusterId,
    [LABEL_NODE_POOL_ID]: other.poolId,
  };
  const annotations = {
    [`${ANNOTATION_REPLACE_PREFIX}${text}`]: text,
    [ANNOTATION_REQUEST_ID]: text,
    [ANNOTATION_NETWORK_REQUEST_ID]: text,
    [ANNOTATION_IDENTITY]: "known",
    [ANNOTATION_HOLD]: text,
    [ANNOTATION_RECREATE]: other.clusterId,
  };
  const forged: (Cluster | NodePool)[] = [];
  for (const [name, annotated] of [
    ["bare", {}],
    ["known", annotations],
  ] as const) {
    const metadata = (kind: string, id: string) => ({
      name: `${name}-${kind}`,
      namespace,
      labels: { ...labels, [LABEL_ID]: id },
      annotations: annotated,
    });
    const spec = { version: "1.34.2", plan: "scale", displayName: text };
    const cluster = { metadata: metadata("cluster", other.clusterId), spec };
    forged.push(await api.deps.kube.apply(clusterKind, cluster, { fieldManager: text }));
    for (const id of [createId(), other.poolId]) {
      const under = { ...metadata("pool", id), name: `${name}-${id === other.poolId ? "same" : "new"}` };
      const pool = { ...POOL_SPEC, displayName: text, clusterName: `${name}-cluster` };
      const object = { metadata: under, spec: pool };
      forged.push(await api.deps.kube.apply(nodePoolKind, object, { fieldManager: text }));
    }
  }
  const status = { id: other.clusterId, phase: "Degraded", message: text };
  for (const { kind, metadata } of forged)
    await api.deps.kube.mergePatch(
      (kind === "Cluster" ? clusterKind : nodePoolKind) as Kind<KubeObject>,
      namespace,
      metadata.name,
      { status: kind === "Cluster" ? status : { phase: "Failed", message: text } },
      { fieldManager: text, subresource: "status" },
    );
  for (const regarded of [...forged, other.cluster, other.pool])
    await api.deps.kube.create(eventKind, anEvent(own, regarded, labels), { fieldManager: text });
}

function anEvent(own: Side, { kind, metadata }: Cluster | NodePool, labels: Record<string, string>): Event {
  const { namespace, text } = own;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: `e-${createId()}`, namespace, labels: { ...labels, [LABEL_SOURCE]: "operator" } },
    reportingController: "marina-operator",
    reportingInstance: "test",
    action: "Test",
    type: "Warning",
    reason: "Forged",
    note: text,
    eventTime: `${new Date().toISOString().slice(0, -1)}000Z`,
    regarding: {
      apiVersion: "cloud.marina.dev/v1",
      kind: kind ?? "",
      name: metadata.name,
      namespace,
      uid: metadata.uid ?? "",
    },
  };
}

/** An Event and a change of the own cluster and pool come after all others: what came before them has been processed. */
async function follow(own: Side): Promise<void> {
  const { kube } = api.deps;
  for (const [kind, object] of [
    [clusterKind, own.cluster],
    [nodePoolKind, own.pool],
  ] as const) {
    const labels = { [LABEL_CLUSTER_ID]: own.clusterId, [LABEL_NODE_POOL_ID]: own.poolId };
    const event = anEvent({ ...own, text: "seen" }, object, labels);
    await kube.create(eventKind, event, { fieldManager: "test" });
    const patch = { spec: { displayName: `${kind.plural}-seen` } };
    await kube.mergePatch(kind as Kind<KubeObject>, own.namespace, object.metadata.name, patch, {
      fieldManager: "test",
    });
  }
  await waitFor("what follows to be seen", async () => {
    const events = await readFeed(own);
    const { body } = await api.request("GET", `${pathOf(own)}/nodepools`);
    const notes = events.filter((event) => event.includes('"seen"'));
    return notes.length === 2 && JSON.stringify(body).includes("nodepools-seen");
  });
}

const pathOf = ({ orgId, clusterId }: Side) => `/api/v1/organizations/${orgId}/clusters/${clusterId}`;

async function readFeed(side: Side): Promise<string[]> {
  const headers = { accept: "application/json" };
  const { body } = await api.request("GET", `${pathOf(side)}/system-events?limit=100`, { headers });
  return body.items.map((item: unknown) => JSON.stringify(item));
}

/** Each side, and the other one. */
const pairs = () => [[sides[0], sides[1]] as const, [sides[1], sides[0]] as const];

test("nothing that a tenant writes with the ids of another one is in that one's feed", async () => {
  for (const [own, other] of pairs()) {
    const feed = (await readFeed(own)).join("\n");
    expect(feed).toContain('"seen"');
    expect(feed).not.toContain(other.text);
    const rows = await api.deps.db
      .select({ orgId: feedEvents.orgId })
      .from(feedEvents)
      .where(eq(feedEvents.clusterId, own.clusterId));
    expect(new Set(rows.map(({ orgId }) => orgId))).toEqual(new Set([own.orgId]));
  }
});

test("nor among its objects, in its audit log, its records or its transitions", async () => {
  for (const [own, other] of pairs()) {
    const base = `/api/v1/organizations/${own.orgId}`;
    for (const path of [`${base}/clusters`, `${pathOf(own)}/nodepools`, `${base}/audit-log?limit=100`]) {
      const { status, body } = await api.request("GET", path);
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain(other.text);
    }
    const ids = [own.clusterId, own.poolId];
    const { db } = api.deps;
    const tables = [
      await db
        .select()
        .from(transitions)
        .where(inArray(transitions.clusterId, [own.clusterId])),
      await db.select().from(nodePoolRecords).where(eq(nodePoolRecords.clusterId, own.clusterId)),
      await db.select().from(clusterRecords).where(inArray(clusterRecords.id, ids)),
      await db.select().from(auditLog).where(inArray(auditLog.targetId, ids)),
    ];
    for (const rows of tables) {
      expect(rows.length).toBeGreaterThan(0);
      expect(new Set(rows.map(({ orgId }) => orgId))).toEqual(new Set([own.orgId]));
    }
  }
});

test("an event that is stored for another organization under the id of a cluster is not read by its tenant", async () => {
  const [own, other] = sides;
  const foreign = aStatus({ orgId: other.orgId, clusterId: own.clusterId }, "foreign");
  await api.deps.db.transaction((tx) => appendFeedEvents(tx, [foreign]));
  expect((await readFeed(own)).join("\n")).not.toContain("foreign");
  const stored = await listEventsAfter(api.deps.db, { orgId: other.orgId, clusterId: own.clusterId }, 0, 100);
  expect(stored).toHaveLength(1);
});
