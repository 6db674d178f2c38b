import { and, eq, inArray, sql } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { setUp } from "../../../e2e/testing/set-up.ts";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { LABEL_ORG_ID } from "../../../shared/crd/names.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { INDEX_ORGANIZATION, indexByOrganization } from "../../../shared/crd/organization.ts";
import type { Namespace } from "../../../shared/kube/core-kinds.ts";
import { objectKey } from "../../../shared/kube/object.ts";
import { createStore } from "../../../shared/kube/store.ts";
import { createId } from "../../../shared/program/id.ts";
import { auditLog } from "../../audit/table.ts";
import { connectDatabase, type Queryable } from "../../db/client.ts";
import { feedEvents } from "../../events/table.ts";
import { startTestApp } from "../../testing/app.ts";
import { createUnauditedVersions } from "./audit-versions.ts";
import type { Observation } from "./batches.ts";
import { projectObservations } from "./index.ts";
import type { ProjectedObject } from "./project.ts";
import { projectBatch } from "./project-batch.ts";
import {
  clusterRecords,
  nodePoolRecords,
  projectedClusters,
  projectedNodePools,
  transitions,
} from "./table.ts";
import { aCluster, createObservations, createRandom, projected, TRANSITION_TYPES } from "./testing.ts";

const api = setUp(startTestApp);

function observe(...observations: Observation[]) {
  return api.deps.db.transaction((tx) => projectObservations(tx, observations));
}

/** Everything that is stored of the observed objects, without values that differ between runs. */
async function readStored(orgId: string, observations: readonly Observation[]) {
  const { db } = api.deps;
  const ids = [...new Set(observations.map(({ object }) => object.id))];
  const numberOf = (id: string | null) => (id === null ? null : ids.indexOf(id));
  const rows = async (table: typeof projectedClusters | typeof projectedNodePools) =>
    (await db.select().from(table).where(eq(table.orgId, orgId)).orderBy(table.uid)).map((row) => [
      observations.findIndex(({ object }) => object.uid === row.uid),
      row.name,
      row.displayName,
      row.status,
      String(row.resourceVersion),
      row.deletedAt !== null,
      row.object.status,
    ]);
  const records = async (table: typeof clusterRecords | typeof nodePoolRecords) =>
    (await db.select().from(table).where(eq(table.orgId, orgId)).orderBy(table.objectName)).map((row) => [
      numberOf(row.id),
      row.name,
      row.nameKey,
      row.deletedAt !== null,
    ]);
  const byObject = <T>(found: readonly T[], idOf: (row: T) => string, present: (row: T) => unknown) =>
    ids.map((id) => found.filter((row) => idOf(row) === id).map(present));
  const transitionLog = await db
    .select()
    .from(transitions)
    .where(eq(transitions.orgId, orgId))
    .orderBy(transitions.id);
  const entries = await db.select().from(auditLog).where(eq(auditLog.orgId, orgId)).orderBy(auditLog.id);
  // Whether a pool's deletion was part of its cluster's depends on what is known of the cluster at that moment.
  const audit = entries.filter(({ action }) => action !== "node_pool.delete");
  const feed = await db
    .select()
    .from(feedEvents)
    .where(inArray(feedEvents.clusterId, ids))
    .orderBy(feedEvents.id);
  return {
    clusters: sortRows(await rows(projectedClusters)),
    nodePools: sortRows(await rows(projectedNodePools)),
    clusterRecords: await records(clusterRecords),
    nodePoolRecords: await records(nodePoolRecords),
    transitionLog: byObject(
      transitionLog,
      ({ objectId }) => objectId,
      ({ type, at, sequence }) => (type === "deleted" ? [type] : [type, at, sequence]),
    ),
    audit: byObject(
      audit,
      ({ targetId }) => targetId,
      ({ action, actor, after }) => [action, actor, after],
    ),
    feed: byObject(
      feed,
      ({ clusterId, nodePoolId }) => nodePoolId ?? clusterId,
      ({ payload }) => ("status" in payload ? [payload.previousStatus, payload.status] : []),
    ),
  };
}

function sortRows(rows: readonly unknown[][]): unknown[][] {
  return rows.toSorted((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
}

describe("many observations in one transaction", () => {
  test.each([1, 2, 3, 4])("end as one after another does (story %i)", async (seed) => {
    const [oneByOne, together] = [createId(), createId()];
    const single = createObservations(oneByOne, createRandom(seed));
    for (const observation of single) await observe(observation);
    const random = createRandom(seed);
    const batched = createObservations(together, random);
    for (let start = 0; start < batched.length; ) {
      const size = 1 + random(40);
      await observe(...batched.slice(start, start + size));
      start += size;
    }
    expect(await readStored(together, batched)).toEqual(await readStored(oneByOne, single));
  });

  test("take no more statements than one", async () => {
    const count = async (objects: ProjectedObject[]) => {
      let statements = 0;
      await api.deps.db.transaction((tx) => {
        const counting: Queryable = new Proxy(tx, {
          get(target, name) {
            statements += 1;
            const method = Reflect.get(target, name);
            return typeof method === "function" ? method.bind(target) : method;
          },
        });
        return projectObservations(
          counting,
          objects.map((object) => ({ object })),
        );
      });
      return statements;
    };
    const orgId = createId();
    const one = await count([projected(orgId, 0)]);
    const rest = Array.from({ length: 99 }, (_, n) => projected(orgId, n + 1));
    expect(await count(rest)).toBe(one);
    const running = rest.map((object) => ({
      ...object,
      status: "running" as const,
      resourceVersion: 9_000n,
    }));
    expect(await count(running)).toBeLessThan(one);
  });

  test("let an object have the name that another one of them gives up", async () => {
    const orgId = createId();
    const first = projected(orgId, 1, { displayName: "Wanted" });
    await observe({ object: first });
    const renamed = { ...first, displayName: "Other", resourceVersion: 9_000n };
    const second = projected(orgId, 2, { displayName: "wanted" });
    await observe({ object: second }, { object: renamed });
    const held = await api.deps.db.select().from(clusterRecords).where(eq(clusterRecords.orgId, orgId));
    expect(Object.fromEntries(held.map(({ nameKey, id }) => [nameKey, id]))).toEqual({
      wanted: second.id,
      other: first.id,
    });
  });

  test("write each object's transitions to the log in order", async () => {
    const orgId = createId();
    const transitionsInOrder = TRANSITION_TYPES.map((type, n) => ({
      sequence: n + 1,
      type,
      at: `2026-11-21T09:0${n + 1}:00Z`,
    }));
    const objects = Array.from({ length: 20 }, (_, n) => {
      const object = projected(orgId, n);
      return { ...object, object: { ...object.object, status: { transitions: transitionsInOrder } } };
    });
    await observe(...objects.map((object) => ({ object })));
    const [some] = objects;
    const rows = await api.deps.db
      .select()
      .from(transitions)
      .where(and(eq(transitions.orgId, orgId), eq(transitions.objectId, some?.id ?? "")))
      .orderBy(transitions.id);
    expect(rows.map(({ type }) => type)).toEqual(["created", "ready", "degraded", "recovered", "upgraded"]);
  });
});

test("a rebuild reads no more of the tables for each object as they fill", async () => {
  const database = connectDatabase(api.deps.config.databaseUrl, { poolSize: 1 });
  const orgId = createId();
  const write = (from: number, to: number) =>
    database.db.transaction(async (tx) => {
      const numbers = Array.from({ length: to - from }, (_, n) => from + n);
      await projectObservations(
        tx,
        numbers.map((n) => ({ object: projected(orgId, n) })),
      );
      const [read] = await tx.execute<{ rows: number }>(
        sql`select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as rows
          from pg_stat_xact_user_tables where relname in ('projected_clusters', 'object_records')`,
      );
      return read?.rows ?? 0;
    });
  try {
    // Statements are prepared, and run often enough to keep their plans, before the tables are emptied.
    for (let n = 0; n < 10; n += 1) await write(n, n + 1);
    await database.sql`truncate projected_clusters, projected_node_pools`;
    for (let n = 1; n < 20; n += 1) await write(n * 100, n * 100 + 100);
    // A statement may read a small table once; one that reads it for each object comes to 200,000.
    expect(await write(2_000, 2_100)).toBeLessThan(60_000);
  } finally {
    await database.close();
  }
});

test("a list of whatever length is written in transactions of a hundred objects", async () => {
  const orgId = createId();
  const clusters = Array.from({ length: 250 }, (_, n) => aCluster(orgId, n));
  const namespaces = createStore<Namespace>({
    [INDEX_ORGANIZATION]: indexByOrganization,
  });
  const caches = { namespaces, clusters: createStore<Cluster>(), nodePools: createStore<NodePool>() };
  namespaces.set({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: `org-${orgId}`, labels: { [LABEL_ORG_ID]: orgId } },
  });
  for (const cluster of clusters) caches.clusters.set(cluster);
  let transactions = 0;
  const db = new Proxy(api.deps.db, {
    get(target, name) {
      if (name === "transaction") transactions += 1;
      const method = Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
  const works = clusters.map((cluster) => ({ kind: "Cluster" as const, key: objectKey(cluster) }));
  await projectBatch({ ...api.deps, db }, caches, works, createUnauditedVersions());
  expect(transactions).toBe(3);
  const rows = await api.deps.db.select().from(projectedClusters).where(eq(projectedClusters.orgId, orgId));
  expect(rows).toHaveLength(250);
});
