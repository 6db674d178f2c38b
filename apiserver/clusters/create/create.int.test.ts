import { beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { clusterKind } from "../../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { createId } from "../../../shared/program/id.ts";
import type { Deps } from "../../deps.ts";
import { asAuthorized } from "../../http/contract/caller.ts";
import { ApiError, type ErrorDetail } from "../../http/errors.ts";
import { createIdempotencyStores } from "../../http/idempotency/store.ts";
import { toNodePoolObject } from "../../node-pools/collection.ts";
import { organizations } from "../../organizations/table.ts";
import { findCluster } from "../../resources/project/index.ts";
import { writeIntentJobs } from "../../resources/write/index.ts";
import { listCreate } from "../../resources/write/intents.ts";
import { isNameFree } from "../../resources/write/testing.ts";
import { startTestApp } from "../../testing/app.ts";
import { withUnreachableKube } from "../../testing/unreachable-kube.ts";
import { createCluster, type NewCluster, toClusterObject } from "./create-cluster.ts";
import { aCreateRequest, author, create } from "./testing.ts";

const api = setUp(startTestApp);
let orgId: string;

beforeAll(async () => {
  orgId = await api.createOrganization();
});

const aRequest = (name: string) => aCreateRequest(orgId, name);

/** What a process leaves that was killed: the intents, and of the objects those that `write` created. */
async function crash(request: NewCluster, ageSeconds: number, write: (deps: Deps) => Promise<unknown>) {
  const { kube } = api.deps;
  const die: Deps["kube"]["create"] = async (kind, ...others) => {
    const isWritten = [clusterKind, nodePoolKind].includes(kind as never);
    return isWritten ? Promise.reject(new Error("killed")) : kube.create(kind, ...others);
  };
  await expect(create({ ...api.deps, kube: { ...kube, create: die } }, request)).rejects.toThrow("killed");
  await write(api.deps);
  await api.deps.sql`update write_intents set started_at = now() - make_interval(secs => ${ageSeconds})
    where group_id = ${request.clusterId}`;
}

/** What the client holds who can repeat the request: a key without an outcome. */
async function holdKey({ clusterId, objectName }: NewCluster) {
  const store = createIdempotencyStores()(api.deps.db);
  await store.claim({ scope: clusterId, key: "retry", bodyHash: "", id: clusterId, objectName });
}

async function writePools({ kube }: Deps, request: NewCluster) {
  for (const pool of request.nodePools)
    await kube.create(nodePoolKind, toNodePoolObject(request, pool), { fieldManager: "marina-apiserver" });
}

async function writeAll(deps: Deps, request: NewCluster) {
  await writePools(deps, request);
  await deps.kube.create(clusterKind, toClusterObject(request), { fieldManager: "marina-apiserver" });
}

async function sweep(deps = api.deps) {
  for (const job of writeIntentJobs(deps)) await job.run(new AbortController().signal);
}

/** "pending" while there are intents, then the result in the newest audit row. */
async function stateOf({ clusterId }: NewCluster) {
  if ((await listCreate(api.deps.db, clusterId)).length > 0) return "pending";
  const rows = await api.deps.sql`select result from audit_log where target_id = ${clusterId} order by id`;
  return rows.at(-1)?.result;
}

async function listOwn(request: NewCluster) {
  const { kube } = api.deps;
  const cluster = await kube.get(clusterKind, request.namespace, request.objectName);
  const pools = await kube.listAll(nodePoolKind, { namespace: request.namespace });
  return {
    clusters: cluster === undefined ? 0 : 1,
    pools: pools.filter(({ spec }) => spec.clusterName === request.objectName).length,
  };
}

describe("a create that was killed after its Cluster was written", () => {
  test("is completed by the sweeper: served, audited once, in the name of its author", async () => {
    const request = aRequest("Killed late");
    await crash(request, 61, (deps) => writeAll(deps, request));
    await sweep();
    await sweep();
    expect(await stateOf(request)).toBe("done");
    expect((await findCluster(api.deps.db, orgId, request.clusterId))?.displayName).toBe("Killed late");
    const { clusterId } = request;
    const rows = await api.deps.sql`select action, request_id from audit_log where target_id = ${clusterId}`;
    expect(rows).toEqual([{ action: "cluster.create", request_id: "request-1" }]);
  });

  test("is completed by the client's own retry, with what was stored at first", async () => {
    const request = aRequest("Killed and repeated");
    await crash(request, 61, (deps) => writeAll(deps, request));
    const repeated = {
      ...aRequest("Killed and repeated"),
      clusterId: request.clusterId,
      objectName: request.objectName,
    };
    const cluster = await create(api.deps, repeated);
    expect(cluster.id).toBe(request.clusterId);
    expect(await listOwn(request)).toEqual({ clusters: 1, pools: 1 });
  });
});

describe("a create that was killed before its Cluster was written", () => {
  test("is finished by the client's retry", async () => {
    const request = aRequest("Killed early");
    await crash(request, 61, (deps) => writePools(deps, request));
    await create(api.deps, request);
    expect(await listOwn(request)).toEqual({ clusters: 1, pools: 1 });
  });

  test("gets Retry-After while a pool of the first attempt is being deleted, and then completes", async () => {
    const request = aRequest("Killed and removed");
    await crash(request, 61, (deps) => writePools(deps, request));
    const { kube } = api.deps;
    const name = request.nodePools[0]?.objectName ?? "";
    const hold = (finalizers: string[] | null) =>
      kube.mergePatch(
        nodePoolKind,
        request.namespace,
        name,
        { metadata: { finalizers } },
        { fieldManager: "t" },
      );
    await hold(["a.test/held"]);
    await kube.delete(nodePoolKind, request.namespace, name);
    await expect(create(api.deps, request)).rejects.toMatchObject({
      code: "conflict",
      retryAfterSeconds: 5,
    });
    await hold(null);
    await create(api.deps, request);
    expect(await listOwn(request)).toEqual({ clusters: 1, pools: 1 });
  });

  test("without an Idempotency-Key is undone after two minutes: its pools are deleted, its name is free, and its failure audited", async () => {
    const request = aRequest("Killed without a key");
    await crash(request, 90, (deps) => writePools(deps, request));
    await sweep();
    expect(await stateOf(request)).toBe("pending");
    await crash(request, 121, async () => {});
    await sweep();
    expect(await stateOf(request)).toBe("failed");
    await expect.poll(() => listOwn(request)).toEqual({ clusters: 0, pools: 0 });
    expect(await isNameFree(api.deps.db, orgId, "killed without A key")).toBe(true);
  });

  test("waits for that retry ten minutes; then its pools are removed and its name is free", async () => {
    const request = aRequest("Killed for good");
    await holdKey(request);
    await crash(request, 540, (deps) => writePools(deps, request));
    await sweep();
    expect(await stateOf(request)).toBe("pending");
    await crash(request, 601, async () => {});
    await sweep();
    expect(await stateOf(request)).toBe("failed");
    await expect.poll(() => listOwn(request)).toEqual({ clusters: 0, pools: 0 });
    expect(await isNameFree(api.deps.db, orgId, "killed FOR good")).toBe(true);
  });
});

describe("a create that is repeated while it is being abandoned", () => {
  /** Sweeps with a Kubernetes API that deletes the first pool once `open` has been called. */
  function sweepSlowly() {
    const deletionStarted = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const { kube } = api.deps;
    const slow: Deps["kube"] = {
      ...kube,
      async delete(...args) {
        deletionStarted.resolve();
        await gate.promise;
        return kube.delete(...args);
      },
    };
    const swept = sweep({ ...api.deps, kube: slow });
    return { deletionStarted: deletionStarted.promise, open: gate.resolve, swept };
  }

  test("is refused at once, which holds no lock of the organization, and afterwards completed with all its pools", async () => {
    const request = aRequest("Repeated late");
    await crash(request, 601, (deps) => writePools(deps, request));
    const sweeping = sweepSlowly();
    await sweeping.deletionStarted;
    await expect(create(api.deps, request)).rejects.toMatchObject({ code: "conflict", retryAfterSeconds: 5 });
    sweeping.open();
    await sweeping.swept;
    // As a client does that repeats after Retry-After.
    await waitFor("the repetition to create it", () => create(api.deps, request));
    expect(await stateOf(request)).toBe("done");
    await expect.poll(() => listOwn(request)).toEqual({ clusters: 1, pools: 1 });
    const pool = await api.deps.kube.get(
      nodePoolKind,
      request.namespace,
      request.nodePools[0]?.objectName ?? "",
    );
    expect(pool?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe("a refused create", () => {
  const fault: ErrorDetail = { field: "plan", code: "unsupported", message: "is not available" };
  const former = { ...asAuthorized(author), confirm: () => Promise.reject(new ApiError("forbidden", "")) };
  test.each([
    ["for a fault", false, [fault], asAuthorized(author), { code: "validation_failed" }],
    ["of a dry run for a fault", true, [fault], asAuthorized(author), { code: "validation_failed" }],
    ["of a dry run", true, [], asAuthorized(author), { code: "conflict", retryAfterSeconds: 15 }],
    ["for a right that has ended", false, [], former, { code: "forbidden" }],
  ])("%s makes no Namespace", async (_what, dryRun, details, caller, refusal) => {
    const id = createId();
    await api.deps.db.insert(organizations).values({ id, name: "Faulty", slug: `faulty-${id.slice(-8)}` });
    const request = aCreateRequest(id, "Faulty");
    const created = createCluster(api.deps, caller, request, { dryRun, details });
    await expect(created).rejects.toMatchObject(refusal);
    expect(await api.deps.kube.get(namespaceKind, undefined, request.namespace)).toBeUndefined();
  });

  test("of the Kubernetes API changes nothing: no pool, no name, no intent", async () => {
    const request = aRequest("Refused");
    const refused = { ...request, spec: { ...request.spec, version: "not-a-version" } };
    await expect(create(api.deps, refused)).rejects.toMatchObject({
      code: "validation_failed",
      details: [{ field: "k8s_version" }],
    });
    expect(await stateOf(request)).toBeUndefined();
    await expect.poll(() => listOwn(request)).toEqual({ clusters: 0, pools: 0 });
    const next = await create(api.deps, aRequest("Refused"));
    expect(next.displayName).toBe("Refused");
  });

  test("for a Kubernetes API that is not there leaves the name free, also for the same request later", async () => {
    const request = aRequest("Unreachable");
    await withUnreachableKube((kube) =>
      expect(create({ ...api.deps, kube }, request)).rejects.toMatchObject({
        isUnavailable: true,
      }),
    );
    const cluster = await create(api.deps, request);
    expect(cluster.id).toBe(request.clusterId);
  });
});
