import { isDeepStrictEqual } from "node:util";
import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { LABEL_ID } from "../../../shared/crd/names.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { createId } from "../../../shared/program/id.ts";
import { startTestApp } from "../../testing/app.ts";
import { projectObservations, toProjectedCluster } from "./index.ts";
import { projectionJobs } from "./jobs.ts";
import { startProjector } from "./projector.ts";
import { projectedClusters, transitions } from "./table.ts";

const api = setUp(startTestApp);
let orgId: string;
let namespace: string;
let stop: AbortController | undefined;
let stopped: Promise<void> | undefined;

beforeAll(async () => {
  orgId = await api.createOrganization();
  namespace = `org-${orgId}`;
});
afterEach(() => end());
afterAll(async () => {
  for (const { metadata } of await api.deps.kube.listAll(clusterKind, { namespace }))
    await api.deps.kube.delete(clusterKind, namespace, metadata.name);
});

async function start(): Promise<void> {
  stop = new AbortController();
  const projector = startProjector(api.deps, stop.signal);
  stopped = projector.stopped;
  await expect.poll(() => projector.synced()).toBe(true);
}

async function end(): Promise<void> {
  stop?.abort();
  await stopped;
}

/** A cluster with a pool, by kubectl; the class of its plan takes no cluster, so that it stands still. */
async function apply(): Promise<{ id: string; name: string }> {
  const id = createId();
  const name = `r-${id.slice(-12)}`;
  const by = { fieldManager: "kubectl" };
  await api.deps.kube.apply(
    clusterKind,
    { metadata: { name, namespace, labels: { [LABEL_ID]: id } }, spec: { version: "1.34.2", plan: "scale" } },
    by,
  );
  const size = { vcpus: 1, memoryGB: 1, diskGB: 10, minNodes: 1, maxNodes: 1, desiredNodes: 1 };
  await api.deps.kube.apply(
    nodePoolKind,
    {
      metadata: { name, namespace, labels: { [LABEL_ID]: createId() } },
      spec: { clusterName: name, ...size },
    },
    by,
  );
  return { id, name };
}

type Transition = NonNullable<NonNullable<Cluster["status"]>["transitions"]>[number];

function setTransitions(name: string, reported: Transition[]): Promise<Cluster> {
  return api.deps.kube.mergePatch(
    clusterKind,
    namespace,
    name,
    { status: { transitions: reported } },
    {
      fieldManager: "marina-operator-status",
      subresource: "status",
    },
  );
}

// The stack's operator may report one of its own in between, with the next sequence.
const READY: Transition = { sequence: 101, type: "Ready", at: "2026-11-21T09:05:00Z", version: "1.34.2" };
const DEGRADED: Transition = {
  sequence: 201,
  type: "Degraded",
  at: "2026-11-21T09:06:00Z",
  reason: "NodeNotHealthy",
};
const RECOVERED: Transition = { sequence: 301, type: "Recovered", at: "2026-11-21T09:07:00Z" };

/** Without what the operator itself says of a plan whose clusters are refused. */
async function transitionsOf(id: string): Promise<string[]> {
  const rows = await api.deps.db
    .select({ type: transitions.type })
    .from(transitions)
    .where(eq(transitions.objectId, id))
    .orderBy(transitions.at);
  return rows.map(({ type }) => type).filter((type) => type !== "failed");
}

/** Everything that the projection and what hangs on it says of the organization. */
async function readAll() {
  const read = async (query: string) => [...(await api.deps.sql.unsafe(query, [orgId]))];
  const objects = (table: string) =>
    read(`select uid, id, namespace, name, display_name, status, resource_version::text, updated_at, outside_writers,
      object from ${table} where org_id = $1 and deleted_at is null order by uid`);
  return {
    clusters: await objects("projected_clusters"),
    nodePools: await objects("projected_node_pools"),
    records: await read("select * from object_records where org_id = $1 order by id"),
    transitionLog: await read(
      "select object_id, type, at, details from transitions where org_id = $1 order by object_id, at, type",
    ),
    audit: await read("select id, action, target_id from audit_log where org_id = $1 order by id"),
    feed: await read(
      `select id, cluster_id, payload from system_events
       where cluster_id in (select id from cluster_records where org_id = $1) order by cluster_id, id`,
    ),
  };
}

/** Whether the stack's operator has observed every object, and the projection has the versions that it has left. */
async function isCurrent({ clusters, nodePools }: Awaited<ReturnType<typeof readAll>>): Promise<boolean> {
  const objects = [
    ...(await api.deps.kube.listAll(clusterKind, { namespace })),
    ...(await api.deps.kube.listAll(nodePoolKind, { namespace })),
  ];
  const projectedVersions = new Map(
    [...clusters, ...nodePools].map((row) => [row.uid, row.resource_version]),
  );
  return objects.every(
    ({ metadata, status }) =>
      status?.observedGeneration === metadata.generation &&
      projectedVersions.get(metadata.uid) === metadata.resourceVersion,
  );
}

/** Waits until nothing of the organization changes any more. */
async function settle() {
  let last = JSON.stringify(await readAll());
  await expect
    .poll(
      async () => {
        const all = await readAll();
        const now = JSON.stringify(all);
        const same = now === last;
        last = now;
        return same && (await isCurrent(all));
      },
      { interval: 1_000 },
    )
    .toBe(true);
}

/** Projects everything, and stops once it does not change any more. */
async function projectAll() {
  await start();
  await settle();
  await end();
  return readAll();
}

async function empty() {
  await api.deps.sql`truncate projected_clusters, projected_node_pools`;
  return readAll();
}

const versionsOf = ({ clusters, nodePools }: Awaited<ReturnType<typeof readAll>>) =>
  [...clusters, ...nodePools].map((row) => [row.uid, row.resource_version]);

describe("a projection that was lost", () => {
  test("is rebuilt from the Kubernetes API equal to the old one, and nothing is announced a second time", async () => {
    const { name } = await apply();
    const body = { name: "By REST", k8s_version: "1.34", plan: "scale", node_pools: [] };
    const created = await api.request("POST", `/api/v1/organizations/${orgId}/clusters`, { body });
    expect(created.status).toBe(202);
    await setTransitions(name, [READY, DEGRADED]);
    // The stack's operator writes a status when time alone has changed it: then the rebuild is repeated.
    const { before, emptied, after } = await waitFor("a rebuild of objects that stand still", async () => {
      const rebuilt = { before: await projectAll(), emptied: await empty(), after: await projectAll() };
      const [earlier, later] = [versionsOf(rebuilt.before), versionsOf(rebuilt.after)];
      return isDeepStrictEqual(earlier, later) ? rebuilt : undefined;
    });
    expect(before.clusters.length).toBe(2);
    expect(before.transitionLog.length).toBeGreaterThan(2);
    expect(emptied.clusters).toEqual([]);
    expect(after).toEqual(before);
  });
});

describe("each transition is in the log once (the durable source of notifications)", () => {
  test("also when it and others were reported while no projector ran", async () => {
    const { id, name } = await apply();
    await setTransitions(name, [READY]);
    await setTransitions(name, [READY, DEGRADED]);
    await setTransitions(name, [READY, DEGRADED, RECOVERED]);
    await start();
    await expect
      .poll(() => transitionsOf(id))
      .toEqual(expect.arrayContaining(["created", "ready", "degraded", "recovered"]));
    expect(await transitionsOf(id)).toHaveLength(4);
  });

  test("also after a crash in the middle of a batch, which then is carried out whole", async () => {
    const { id, name } = await apply();
    const reported = await setTransitions(name, [READY, DEGRADED]);
    const object = toProjectedCluster(reported, orgId);
    if (object === undefined) throw new Error("not projected");
    const crash = api.deps.db.transaction(async (tx) => {
      await projectObservations(tx, [{ object }]);
      throw new Error("crashed before the commit");
    });
    await expect(crash).rejects.toThrow("crashed");
    expect(await transitionsOf(id)).toEqual([]);
    await start();
    await expect.poll(() => transitionsOf(id)).toHaveLength(3);
  });

  test("also by two projectors at once, and after a takeover in the middle", async () => {
    const { id, name } = await apply();
    await start();
    const second = new AbortController();
    const other = startProjector(api.deps, second.signal);
    onTestFinished(() => {
      second.abort();
      return other.stopped;
    });
    await setTransitions(name, [READY]);
    await expect.poll(() => transitionsOf(id)).toHaveLength(2);
    await end();
    // The stack's operator may write its own status between this and the takeover.
    const report = async () => {
      await setTransitions(name, [READY, DEGRADED]);
      return transitionsOf(id);
    };
    await expect.poll(report, { interval: 1_000 }).toHaveLength(3);
    second.abort();
    await other.stopped;
    expect((await transitionsOf(id)).sort()).toEqual(["created", "degraded", "ready"]);
  });

  test("also when the projection was rebuilt, with ready, created and deleted at most once in a life", async () => {
    const { id, name } = await apply();
    const countProjected = async () =>
      (await api.deps.db.select().from(projectedClusters).where(eq(projectedClusters.id, id))).length;
    await setTransitions(name, [READY]);
    await start();
    await expect.poll(countProjected).toBe(1);
    await end();
    await api.deps.sql`truncate projected_clusters, projected_node_pools`;
    await setTransitions(name, [{ ...READY, at: "2026-11-21T10:05:00Z" }]);
    await start();
    await expect.poll(countProjected).toBe(1);
    expect((await transitionsOf(id)).filter((type) => type === "ready")).toHaveLength(1);
    await end();
  });
});

describe("what is over is purged, and nothing else", () => {
  const run = async () => {
    for (const job of projectionJobs(api.deps)) await job.run(new AbortController().signal);
  };

  test.each([
    ["after a week", sql`object`, [6, 8]],
    ["with labels after 130 days", sql`jsonb_set(object, '{spec,labels}', '{"team": "web"}')`, [129, 131]],
  ] as const)("tombstones %s", async (_, changed, days) => {
    const { id, name } = await apply();
    const live = await api.deps.kube.get(clusterKind, namespace, name);
    const object = live && toProjectedCluster(live, orgId);
    if (object === undefined) throw new Error("not projected");
    await api.deps.db.transaction((tx) => projectObservations(tx, [{ object, deleted: true }]));
    const count = async () =>
      (await api.deps.db.select().from(projectedClusters).where(eq(projectedClusters.id, id))).length;
    const rows: number[] = [];
    for (const age of days) {
      const deletedAt = sql`now() - make_interval(days => ${age}::int)`;
      const values = { object: changed, deletedAt };
      await api.deps.db.update(projectedClusters).set(values).where(eq(projectedClusters.id, id));
      await run();
      rows.push(await count());
    }
    expect(rows).toEqual([1, 0]);
  });
});
