import { eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { KubeError } from "../../shared/kube/errors.ts";
import { createId } from "../../shared/program/id.ts";
import type { Deps } from "../deps.ts";
import { asAuthorized, type Caller } from "../http/contract/caller.ts";
import { createNodePool, deleteNodePool, updateNodePool } from "../node-pools/write.ts";
import { findCluster, findNodePool } from "../resources/project/index.ts";
import { writeIntents } from "../resources/table.ts";
import { writeIntentJobs } from "../resources/write/index.ts";
import { setUpTestClusters } from "../testing/service.ts";
import { author } from "./create/testing.ts";

const POOL = { vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1, max_nodes: 9 };
const NO_RESPONSE = new KubeError({ status: 504, reason: "Timeout", kubeMessage: "no response" });
const NOT_SENT = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const REFUSED_CONNECTION = new KubeError({
  status: 0,
  reason: "Unreachable",
  kubeMessage: "not sent",
  cause: NOT_SENT,
});

const api = setUpTestClusters();
let count = 0;

const callerOf = (requestId: string): Caller => asAuthorized({ ...author, requestId });

async function make() {
  const { orgId, clusters } = api;
  count += 1;
  const body = {
    name: `Repeated ${count}`,
    k8s_version: "1.34",
    plan: "scale",
    node_pools: [{ ...POOL, name: "workers" }],
  };
  const { body: created } = await api.request("POST", clusters, { body });
  const { body: pools } = await api.request("GET", `${clusters}/${created.id}/nodepools`);
  const cluster = await findCluster(api.deps.db, orgId, created.id);
  const pool = await findNodePool(api.deps.db, orgId, created.id, pools.items[0].id);
  if (cluster === undefined || pool === undefined) throw new Error("not created");
  return { cluster, pool };
}

/** The service with a Kubernetes API of which some calls are replaced. */
function withKube(replace: (kube: Deps["kube"]) => Partial<Deps["kube"]>): Deps {
  const { deps } = api;
  return { ...deps, kube: { ...deps.kube, ...replace(deps.kube) } };
}

async function sweep(): Promise<void> {
  const { deps } = api;
  await deps.sql`update write_intents set started_at = now() - interval '61 seconds'`;
  for (const job of writeIntentJobs(deps)) await job.run(new AbortController().signal);
}

async function auditOf(id: string) {
  const rows = await api.deps
    .sql`select action, request_id from audit_log where target_id = ${id} order by id`;
  return rows.map(({ action, request_id }) => [action, request_id]);
}

test("a creation that was made keeps its audit row although its repetition is never sent", async () => {
  const { cluster, pool: other } = await make();
  const id = createId();
  const pool = {
    id,
    objectName: `again-${id.slice(-5)}`,
    spec: { ...other.object.spec, displayName: "again" },
  };
  const lost = withKube((kube) => ({
    create: async (...args) => {
      await kube.create(...args);
      throw NO_RESPONSE;
    },
    get: () => Promise.reject(NO_RESPONSE),
  }));
  await expect(createNodePool(lost, callerOf("made"), cluster, pool)).rejects.toBe(NO_RESPONSE);
  const unreachable = withKube(() => ({ create: () => Promise.reject(REFUSED_CONNECTION) }));
  await expect(createNodePool(unreachable, callerOf("repeated"), cluster, pool)).rejects.toBe(
    REFUSED_CONNECTION,
  );
  await sweep();
  expect(await auditOf(id)).toEqual([["node_pool.create", "made"]]);
});

test("a repeated creation finds its object in a Namespace that is full, and another one is refused", async () => {
  const { cluster, pool: other } = await make();
  const { namespace } = other;
  const full = new KubeError({ status: 403, reason: "Forbidden", kubeMessage: "exceeded quota: objects" });
  const refusing = withKube(() => ({ create: () => Promise.reject(full) }));
  const lost = withKube((kube) => ({
    create: async (...args) => {
      await kube.create(...args);
      throw NO_RESPONSE;
    },
    get: () => Promise.reject(NO_RESPONSE),
  }));
  const newPool = (displayName: string) => {
    const id = createId();
    return { id, objectName: `full-${id.slice(-5)}`, spec: { ...other.object.spec, displayName } };
  };
  const made = newPool("made");
  await expect(createNodePool(lost, callerOf("made"), cluster, made)).rejects.toBe(NO_RESPONSE);
  const { projected } = await createNodePool(refusing, callerOf("repeated"), cluster, made);
  expect(projected).toMatchObject({ id: made.id, namespace });
  const refused = createNodePool(refusing, callerOf("refused"), cluster, newPool("refused"));
  await expect(refused).rejects.toMatchObject({ code: "quota_exceeded" });
});

test("a creation that other creations kept from being counted for a quota is 409 to try again, and leaves nothing", async () => {
  const { cluster, pool: other } = await make();
  const kubeMessage =
    'Operation cannot be fulfilled on resourcequotas "marina-clusters": the object has been modified';
  const busy = new KubeError({ status: 409, reason: "Conflict", kubeMessage });
  const refusing = withKube(() => ({ create: () => Promise.reject(busy) }));
  const id = createId();
  const spec = { ...other.object.spec, displayName: "counted" };
  const counted = { id, objectName: `counted-${id.slice(-5)}`, spec };
  await expect(createNodePool(refusing, callerOf("refused"), cluster, counted)).rejects.toMatchObject({
    code: "conflict",
    retryAfterSeconds: 1,
  });
  expect(await api.deps.db.$count(writeIntents, eq(writeIntents.objectId, id))).toBe(0);
  const { projected } = await createNodePool(api.deps, callerOf("repeated"), cluster, counted);
  expect(projected).toMatchObject({ id });
  expect(await auditOf(id)).toEqual([["node_pool.create", "repeated"]]);
});

test("an object is deleted once: a deletion that is repeated after an error has one audit row", async () => {
  const { pool } = await make();
  const failing = withKube(() => ({ delete: () => Promise.reject(NO_RESPONSE) }));
  await expect(deleteNodePool(failing, callerOf("failed"), pool)).rejects.toBe(NO_RESPONSE);
  await deleteNodePool(api.deps, callerOf("repeated"), pool);
  await sweep();
  expect(await auditOf(pool.id)).toEqual([["node_pool.delete", "repeated"]]);
});

test("writes that were left pending are completed although the object of another one cannot be read", async () => {
  const [{ pool: unreadable }, { pool }] = [await make(), await make()];
  const { deps } = api;
  const losing = withKube((kube) => ({
    jsonPatch: async (...args) => {
      await kube.jsonPatch(...args);
      throw new Error("killed");
    },
  }));
  const change = { settings: { desiredNodes: 2 }, immutable: {} };
  for (const one of [unreadable, pool])
    await expect(updateNodePool(losing, callerOf(one.id), one, change)).rejects.toThrow("killed");
  await deps.sql`update write_intents set started_at = now() - interval '61 seconds'`;
  const partly = withKube((kube) => ({
    get: (kind, namespace, name, options) =>
      name === unreadable.name ? Promise.reject(NO_RESPONSE) : kube.get(kind, namespace, name, options),
  }));
  const [job] = writeIntentJobs(partly);
  await expect(job?.run(new AbortController().signal)).rejects.toBe(NO_RESPONSE);
  expect(await auditOf(pool.id)).toEqual([["node_pool.update", pool.id]]);
  expect(await auditOf(unreadable.id)).toEqual([]);
  await sweep();
  expect(await auditOf(unreadable.id)).toEqual([["node_pool.update", unreadable.id]]);
  expect(await deps.db.select().from(writeIntents)).toEqual([]);
});
