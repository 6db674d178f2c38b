import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import { asAuthorized, type Caller } from "../http/contract/caller.ts";
import { createNodePool, deleteNodePool, updateNodePool } from "../node-pools/write.ts";
import {
  findCluster,
  findNodePool,
  type ProjectedCluster,
  type ProjectedNodePool,
  projectObservations,
} from "../resources/project/index.ts";
import { writeIntents } from "../resources/table.ts";
import { writeIntentJobs } from "../resources/write/index.ts";
import { startTestApp } from "../testing/app.ts";
import { withUnreachableKube } from "../testing/unreachable-kube.ts";
import { author } from "./create/testing.ts";
import { deleteCluster } from "./write.ts";

const api = setUp(startTestApp);
let orgId: string;
let clusters: string;
/** The dependencies of a process that is killed right after the object was written. */
let dying: Deps;

beforeAll(async () => {
  orgId = await api.createOrganization();
  clusters = `/api/v1/organizations/${orgId}/clusters`;
  dying = dieAfterWrite(api.deps);
});
afterAll(async () => {
  const { body } = await api.request("GET", clusters);
  for (const { id } of body.items) await api.request("DELETE", `${clusters}/${id}`);
});

/** Runs it after each write that the Kubernetes API has made. */
function afterWrites(kube: Deps["kube"], run: () => void): Deps["kube"] {
  return {
    ...kube,
    create: async (...args) => {
      const written = await kube.create(...args);
      run();
      return written;
    },
    jsonPatch: async (...args) => {
      const written = await kube.jsonPatch(...args);
      run();
      return written;
    },
    delete: (...args) => kube.delete(...args).then(run),
  };
}

/** Dependencies that work until an object is written: the next transaction is rejected. */
function dieAfterWrite(deps: Deps): Deps {
  let isDead = false;
  const kube = afterWrites(deps.kube, () => {
    isDead = true;
  });
  const transaction: Deps["db"]["transaction"] = (...args) => {
    if (!isDead) return deps.db.transaction(...args);
    isDead = false;
    return Promise.reject(new Error("killed"));
  };
  return { ...deps, kube, db: Object.create(deps.db, { transaction: { value: transaction } }) };
}

const POOL = { vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, max_nodes: 9 };
let count = 0;

function callerOf(requestId: string): Caller {
  return asAuthorized({ ...author, requestId });
}

async function make(): Promise<{ cluster: ProjectedCluster; pool: ProjectedNodePool }> {
  count += 1;
  const name = `Cluster ${count}`;
  const body = { name, k8s_version: "1.34", plan: "scale", node_pools: [{ ...POOL, name: "workers" }] };
  const { body: created } = await api.request("POST", clusters, { body });
  const cluster = await findCluster(api.deps.db, orgId, created.id);
  const { body: pools } = await api.request("GET", `${clusters}/${created.id}/nodepools`);
  const pool = await findNodePool(api.deps.db, orgId, created.id, pools.items[0].id);
  if (cluster === undefined || pool === undefined) throw new Error("not created");
  return { cluster, pool };
}

const change = (desiredNodes: number) => ({ settings: { desiredNodes }, immutable: {} });

async function sweep(): Promise<void> {
  await api.deps.sql`update write_intents set started_at = now() - interval '61 seconds'`;
  for (const job of writeIntentJobs(api.deps)) await job.run(new AbortController().signal);
}

async function auditOf(id: string) {
  const rows = await api.deps.sql`
    select action, request_id, after from audit_log where target_id = ${id} order by id`;
  return rows.map(({ action, request_id, after }) => [action, request_id, after?.desired_nodes]);
}

const pending = () => api.deps.db.select().from(writeIntents);

describe("a process killed between the object and its audit row", () => {
  test("loses no audit row of a change of a pool, and none is written twice", async () => {
    const { pool } = await make();
    await expect(updateNodePool(dying, callerOf("killed-1"), pool, change(2))).rejects.toThrow("killed");
    expect(await auditOf(pool.id)).toEqual([]);
    await sweep();
    await sweep();
    expect(await auditOf(pool.id)).toEqual([["node_pool.update", "killed-1", 2]]);
    expect(await pending()).toEqual([]);
  });

  test("drops none when the next change comes before the sweep: it records both, in order", async () => {
    const { pool } = await make();
    await expect(updateNodePool(dying, callerOf("killed-2"), pool, change(2))).rejects.toThrow("killed");
    await updateNodePool(api.deps, callerOf("next"), pool, change(3));
    const expected = [
      ["node_pool.update", "killed-2", 2],
      ["node_pool.update", "next", 3],
    ];
    expect(await auditOf(pool.id)).toEqual(expected);
    await sweep();
    expect(await auditOf(pool.id)).toEqual(expected);
  });

  test("loses none of a created pool, and a repeated request adds none", async () => {
    const { cluster, pool: other } = await make();
    const id = createId();
    const spec = { ...other.object.spec, displayName: "late" };
    const pool = { id, objectName: `late-${id.slice(-5)}`, spec };
    await expect(createNodePool(dying, callerOf("killed-3"), cluster, pool)).rejects.toThrow("killed");
    // The client repeats it before the sweep, as soon as its lease has ended, and again afterwards.
    await createNodePool(api.deps, callerOf("again-1"), cluster, pool);
    await sweep();
    await createNodePool(api.deps, callerOf("again-2"), cluster, pool);
    expect(await auditOf(id)).toEqual([["node_pool.create", "killed-3", 1]]);
  });

  test("loses none of a deletion, of a pool or of a cluster", async () => {
    const { cluster, pool } = await make();
    await expect(deleteNodePool(dying, callerOf("killed-4"), pool)).rejects.toThrow("killed");
    await expect(deleteCluster(dying, callerOf("killed-5"), cluster)).rejects.toThrow("killed");
    await sweep();
    expect(await auditOf(pool.id)).toEqual([["node_pool.delete", "killed-4", undefined]]);
    expect((await auditOf(cluster.id)).at(-1)).toEqual(["cluster.delete", "killed-5", undefined]);
    expect(await pending()).toEqual([]);
  });
});

test.each([
  ["504 of kube-apiserver, whose store goes on", 504],
  ["500 of its store", 500],
  ["503 of a load balancer", 503],
  ["no response", 0],
])("a write that was made has one audit row although its answer is an error: %s", async (_answer, status) => {
  const { cluster, pool: other } = await make();
  const lost = new KubeError({ status, reason: "Lost", kubeMessage: "etcdserver: request timed out" });
  const lose = () => {
    throw lost;
  };
  const losing = { ...api.deps, kube: afterWrites(api.deps.kube, lose) };
  const id = createId();
  const spec = { ...other.object.spec, displayName: "lost" };
  await createNodePool(losing, callerOf("lost-1"), cluster, { id, objectName: `lost-${id.slice(-5)}`, spec });
  const { projected } = await updateNodePool(losing, callerOf("lost-2"), other, change(2));
  expect(projected.object.spec.desiredNodes).toBe(2);
  await expect(deleteNodePool(losing, callerOf("lost-3"), projected)).rejects.toBe(lost);
  await sweep();
  await sweep();
  expect(await auditOf(id)).toEqual([["node_pool.create", "lost-1", 1]]);
  expect(await auditOf(other.id)).toEqual([
    ["node_pool.update", "lost-2", 2],
    ["node_pool.delete", "lost-3", undefined],
  ]);
});

test("a deletion is accepted and has its audit row although its result cannot be read", async () => {
  const { pool } = await make();
  let isDeleted = false;
  const kube = afterWrites(api.deps.kube, () => {
    isDeleted = true;
  });
  const get: Deps["kube"]["get"] = (...args) => (isDeleted ? Promise.reject(unread) : kube.get(...args));
  const unread = new KubeError({ status: 504, reason: "Timeout", kubeMessage: "no response" });
  const deleted = await deleteNodePool({ ...api.deps, kube: { ...kube, get } }, callerOf("unread"), pool);
  expect(deleted.projected.object.metadata.deletionTimestamp).toBeDefined();
  expect(await auditOf(pool.id)).toEqual([["node_pool.delete", "unread", undefined]]);
});

describe("a write that had no effect leaves no audit row and no intent", () => {
  test("refused by the Kubernetes API", async () => {
    const { pool } = await make();
    await expect(
      updateNodePool(api.deps, callerOf("refused"), pool, {
        settings: { nodeLabels: { "kubernetes.io/hostname": "x" } },
        immutable: {},
      }),
    ).rejects.toMatchObject({ code: "validation_failed" });
    expect(await pending()).toEqual([]);
    expect(await auditOf(pool.id)).toEqual([]);
  });

  test("never sent", async () => {
    const { cluster } = await make();
    const live = await api.deps.kube.get(clusterKind, cluster.namespace, cluster.name);
    await withUnreachableKube(async (unreachable) => {
      const kube = { ...unreachable, get: async () => live as never };
      const deleting = deleteCluster({ ...api.deps, kube }, callerOf("never-sent"), cluster);
      await expect(deleting).rejects.toMatchObject({ isUnavailable: true });
    });
    expect(await pending()).toEqual([]);
  });

  test("killed before the object was written", async () => {
    const { cluster, pool } = await make();
    const killed = () => Promise.reject(new Error("killed"));
    const kube = { ...api.deps.kube, jsonPatch: killed, delete: killed };
    const before = { ...api.deps, kube };
    await expect(updateNodePool(before, callerOf("early-1"), pool, change(2))).rejects.toThrow("killed");
    await expect(deleteCluster(before, callerOf("early-2"), cluster)).rejects.toThrow("killed");
    expect(await pending()).toHaveLength(2);
    await sweep();
    expect(await pending()).toEqual([]);
    expect(await auditOf(pool.id)).toEqual([]);
  });
});

describe("what a write has reserved when its process is killed", () => {
  const killed = () => Promise.reject(new Error("killed"));
  const rename = (displayName: string) => ({ settings: { displayName }, immutable: {} });

  function newPool(other: ProjectedNodePool, displayName: string) {
    const id = createId();
    return { id, objectName: `late-${id.slice(-5)}`, spec: { ...other.object.spec, displayName } };
  }

  test("the name stays with its object: it may repeat the renaming, another one is refused until the sweep", async () => {
    const { cluster, pool } = await make();
    const early = { ...api.deps, kube: { ...api.deps.kube, jsonPatch: killed } };
    await expect(updateNodePool(early, callerOf("name-1"), pool, rename("Wanted"))).rejects.toThrow("killed");
    const create = () => createNodePool(api.deps, callerOf("name-2"), cluster, newPool(pool, "wANTED"));
    await expect(create()).rejects.toMatchObject({ code: "operation_in_progress" });
    await expect(updateNodePool(early, callerOf("name-3"), pool, rename("wanted"))).rejects.toThrow("killed");
    await expect(create()).rejects.toMatchObject({ code: "operation_in_progress" });
    await sweep();
    const { projected } = await create();
    expect(projected.displayName).toBe("wANTED");
    const taken = updateNodePool(api.deps, callerOf("name-4"), pool, rename("wanted"));
    await expect(taken).rejects.toMatchObject({ code: "validation_failed", details: [{ field: "name" }] });
  });

  test("name and quota pass from the intent to the object without a gap: the sweep projects what was written", async () => {
    const { cluster, pool } = await make();
    const created = newPool(pool, "swept");
    await expect(createNodePool(dying, callerOf("swept-1"), cluster, created)).rejects.toThrow("killed");
    await expect(updateNodePool(dying, callerOf("swept-2"), pool, change(5))).rejects.toThrow("killed");
    await sweep();
    expect(await pending()).toEqual([]);
    const read = (id: string) => findNodePool(api.deps.db, orgId, cluster.id, id);
    expect((await read(created.id))?.displayName).toBe("swept");
    expect((await read(pool.id))?.object.spec.desiredNodes).toBe(5);
  });

  test("a create that never happened is abandoned with an audit row, and its name is free", async () => {
    const { cluster, pool } = await make();
    const early = { ...api.deps, kube: { ...api.deps.kube, create: killed } };
    const created = newPool(pool, "never");
    await expect(createNodePool(early, callerOf("never-1"), cluster, created)).rejects.toThrow("killed");
    await sweep();
    const rows = await api.deps.sql`select action, result from audit_log where target_id = ${created.id}`;
    expect(rows).toEqual([{ action: "node_pool.create", result: "failed" }]);
    const next = await createNodePool(api.deps, callerOf("never-2"), cluster, newPool(pool, "never"));
    expect(next.projected.displayName).toBe("never");
  });
});

test("a repeated create of a pool that was deleted since is refused, and creates none", async () => {
  const { cluster, pool: other } = await make();
  const id = createId();
  const spec = { ...other.object.spec, displayName: "once" };
  const pool = { id, objectName: `once-${id.slice(-5)}`, spec };
  const { projected } = await createNodePool(api.deps, callerOf("once-1"), cluster, pool);
  await api.deps.db.transaction((tx) => projectObservations(tx, [{ object: projected, deleted: true }]));
  const repeated = createNodePool(api.deps, callerOf("once-2"), cluster, pool);
  await expect(repeated).rejects.toMatchObject({ code: "conflict" });
  expect((await auditOf(id)).filter(([action]) => action === "node_pool.create")).toEqual([
    ["node_pool.create", "once-1", 1],
  ]);
});
