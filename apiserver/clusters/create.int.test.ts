import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createId } from "../../shared/id.ts";
import { createClient } from "../../shared/kube/client.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { auditLog } from "../audit/table.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { createIdempotencyStore } from "../http/idempotency/store.ts";
import { toNodePoolObject } from "../node-pools/store.ts";
import { createObjectName, findCluster, reserveName } from "../projection/store.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { createCluster } from "./create.ts";
import { openIntent } from "./intents.ts";
import { clusterJobs } from "./jobs.ts";
import { type NewCluster, toClusterObject } from "./new-cluster.ts";
import { clusterIntents } from "./table.ts";

let api: TestApp;
let orgId: string;

beforeAll(async () => {
  api = await startTestApp();
  orgId = await api.createOrganization();
});
afterAll(() => api.close());

const origin: Origin = {
  principal: {
    kind: "user",
    userId: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
    issuer: "https://issuer.example",
    emailVerified: true,
    emailTrusted: false,
    roles: [],
    expiresAtMs: 0,
  },
  requestId: "request-1",
  sourceAddress: undefined,
};

function aWish(name: string): NewCluster {
  const objectName = createObjectName(name, "cluster");
  const pool = {
    clusterName: objectName,
    displayName: "general",
    vcpus: 2,
    memoryGB: 4,
    diskGB: 20,
    minNodes: 1,
    maxNodes: 1,
    desiredNodes: 1,
  };
  return {
    orgId,
    namespace: `org-${orgId}`,
    clusterId: createId(),
    objectName,
    requestId: origin.requestId,
    spec: { displayName: name, version: "1.34.2", plan: "scale", publicEndpoint: true },
    nodePools: [{ id: createId(), objectName: createObjectName("general", "pool"), spec: pool }],
  };
}

/** What a process leaves that was killed: the intent and the name, and of the objects what `write` made. */
async function crash(wish: NewCluster, ageSeconds: number, write: (deps: Deps) => Promise<unknown>) {
  await api.deps.db.transaction(async (tx) => {
    await openIntent(tx, wish, origin);
    await reserveName(tx, orgId, wish.spec.displayName ?? "", wish.clusterId);
  });
  await write(api.deps);
  await api.deps.db
    .update(clusterIntents)
    .set({ startedAt: sql`now() - make_interval(secs => ${ageSeconds})` })
    .where(eq(clusterIntents.clusterId, wish.clusterId));
}

/** What the client holds who can repeat the request: a key without an outcome. */
async function holdKey({ clusterId, objectName }: NewCluster) {
  const store = createIdempotencyStore(api.deps.db);
  await store.claim({ scope: clusterId, key: "retry", bodyHash: "", id: clusterId, objectName });
}

async function writePools({ kube }: Deps, wish: NewCluster) {
  for (const pool of wish.nodePools)
    await kube.create(nodePoolKind, toNodePoolObject(wish, pool), { fieldManager: "marina-apiserver" });
}

async function writeAll(deps: Deps, wish: NewCluster) {
  await writePools(deps, wish);
  await deps.kube.create(clusterKind, toClusterObject(wish), { fieldManager: "marina-apiserver" });
}

async function sweep() {
  for (const job of clusterJobs(api.deps)) await job.run(new AbortController().signal);
}

async function stateOf(wish: NewCluster) {
  const rows = await api.deps.db
    .select()
    .from(clusterIntents)
    .where(eq(clusterIntents.clusterId, wish.clusterId));
  return rows[0]?.state;
}

async function listOwn(wish: NewCluster) {
  const { kube } = api.deps;
  const cluster = await kube.get(clusterKind, wish.namespace, wish.objectName);
  const pools = await kube.listAll(nodePoolKind, { namespace: wish.namespace });
  return {
    clusters: cluster === undefined ? 0 : 1,
    pools: pools.filter(({ spec }) => spec.clusterName === wish.objectName).length,
  };
}

describe("a create that was killed after its Cluster was written", () => {
  test("is completed by the sweeper: served, audited once, in the name of its author", async () => {
    const wish = aWish("Killed late");
    await crash(wish, 61, (deps) => writeAll(deps, wish));
    await sweep();
    await sweep();
    expect(await stateOf(wish)).toBe("done");
    expect((await findCluster(api.deps.db, orgId, wish.clusterId))?.displayName).toBe("Killed late");
    const rows = await api.deps.db.select().from(auditLog).where(eq(auditLog.targetId, wish.clusterId));
    expect(rows).toEqual([expect.objectContaining({ action: "cluster.create", requestId: "request-1" })]);
  });

  test("is completed by the client's own retry, with what was fixed at first", async () => {
    const wish = aWish("Killed and repeated");
    await crash(wish, 61, (deps) => writeAll(deps, wish));
    const repeated = {
      ...aWish("Killed and repeated"),
      clusterId: wish.clusterId,
      objectName: wish.objectName,
    };
    const cluster = await createCluster(api.deps, origin, repeated, true);
    expect(cluster.id).toBe(wish.clusterId);
    expect(await listOwn(wish)).toEqual({ clusters: 1, pools: 1 });
  });
});

describe("a create that was killed before its Cluster was written", () => {
  test("is finished by the client's retry", async () => {
    const wish = aWish("Killed early");
    await crash(wish, 61, (deps) => writePools(deps, wish));
    await createCluster(api.deps, origin, wish, true);
    expect(await listOwn(wish)).toEqual({ clusters: 1, pools: 1 });
  });

  test("is told to come again while a pool of the first attempt is being removed, and is then made whole", async () => {
    const wish = aWish("Killed and removed");
    await crash(wish, 61, (deps) => writePools(deps, wish));
    const { kube } = api.deps;
    const name = wish.nodePools[0]?.objectName ?? "";
    const hold = (finalizers: string[] | null) =>
      kube.mergePatch(
        nodePoolKind,
        wish.namespace,
        name,
        { metadata: { finalizers } },
        { fieldManager: "t" },
      );
    await hold(["a.test/held"]);
    await kube.delete(nodePoolKind, wish.namespace, name);
    await expect(createCluster(api.deps, origin, wish, true)).rejects.toMatchObject({
      code: "conflict",
      retryAfterSeconds: 5,
    });
    await hold(null);
    await createCluster(api.deps, origin, wish, true);
    expect(await listOwn(wish)).toEqual({ clusters: 1, pools: 1 });
  });

  test("without an Idempotency-Key waits for nobody: its pools are removed and its name is free after two minutes", async () => {
    const wish = aWish("Killed without a key");
    await crash(wish, 119, (deps) => writePools(deps, wish));
    await sweep();
    expect(await stateOf(wish)).toBe("pending");
    await crash(wish, 121, async () => {});
    await sweep();
    expect(await stateOf(wish)).toBe("abandoned");
    await expect.poll(() => listOwn(wish), { timeout: 10_000 }).toEqual({ clusters: 0, pools: 0 });
    expect(await reserveName(api.deps.db, orgId, "killed without A key", createId())).toBe(true);
  });

  test("waits for that retry ten minutes; then its pools are removed and its name is free", async () => {
    const wish = aWish("Killed for good");
    await holdKey(wish);
    await crash(wish, 590, (deps) => writePools(deps, wish));
    await sweep();
    expect(await stateOf(wish)).toBe("pending");
    await crash(wish, 601, async () => {});
    await sweep();
    expect(await stateOf(wish)).toBe("abandoned");
    await expect.poll(() => listOwn(wish), { timeout: 10_000 }).toEqual({ clusters: 0, pools: 0 });
    expect(await reserveName(api.deps.db, orgId, "killed FOR good", createId())).toBe(true);
  });
});

describe("a create that is repeated in the very moment in which it is given up", () => {
  /** Sweeps with a Kubernetes API that answers the first look at a pool only once `open` was called. */
  function sweepSlowly() {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const { kube } = api.deps;
    const slow: Deps["kube"] = {
      ...kube,
      async get(kind, namespace, name, options) {
        if ((kind as unknown) === nodePoolKind) {
          asked.resolve();
          await gate.promise;
        }
        return kube.get(kind, namespace, name, options);
      },
    };
    const swept = (async () => {
      for (const job of clusterJobs({ ...api.deps, kube: slow })) await job.run(new AbortController().signal);
    })();
    return { asked: asked.promise, open: gate.resolve, swept };
  }

  /** As a client does that is told to come again. */
  function startRepetition(wish: NewCluster) {
    let isMade = false;
    const made = waitFor("the repetition to make it", () => createCluster(api.deps, origin, wish, true));
    void made.then(() => (isMade = true));
    return { made, isMade: () => isMade };
  }

  async function isSomebodyWaiting(): Promise<boolean> {
    const [row] = await api.deps.sql`select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return row?.waiting > 0;
  }

  test("waits for the end of that and is made whole, with all its pools", async () => {
    const wish = aWish("Repeated late");
    await crash(wish, 601, (deps) => writePools(deps, wish));
    const sweeping = sweepSlowly();
    await sweeping.asked;
    const repetition = startRepetition(wish);
    await waitFor("the repetition to have come", async () => repetition.isMade() || isSomebodyWaiting());
    sweeping.open();
    await sweeping.swept;
    await repetition.made;
    expect(await stateOf(wish)).toBe("done");
    await expect.poll(() => listOwn(wish), { timeout: 10_000 }).toEqual({ clusters: 1, pools: 1 });
    const pool = await api.deps.kube.get(nodePoolKind, wish.namespace, wish.nodePools[0]?.objectName ?? "");
    expect(pool?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe("a refused create", () => {
  test("of the Kubernetes API changes nothing: no pool, no name, no intent", async () => {
    const wish = aWish("Refused");
    const refused = { ...wish, spec: { ...wish.spec, version: "not-a-version" } };
    await expect(createCluster(api.deps, origin, refused, false)).rejects.toMatchObject({
      code: "validation_failed",
      details: [{ field: "k8s_version" }],
    });
    expect(await stateOf(wish)).toBe("abandoned");
    await expect.poll(() => listOwn(wish), { timeout: 10_000 }).toEqual({ clusters: 0, pools: 0 });
    const next = await createCluster(api.deps, origin, aWish("Refused"), false);
    expect(next.displayName).toBe("Refused");
  });

  test("for a Kubernetes API that is not there leaves the name free, also for the same request later", async () => {
    const transport = createTransport({ connection: { server: "https://127.0.0.1:1" }, timeoutMs: 1_000 });
    const unreachable = { ...api.deps, kube: createClient(transport) };
    const wish = aWish("Unreachable");
    await expect(createCluster(unreachable, origin, wish, false)).rejects.toMatchObject({
      isUnavailable: true,
    });
    await transport.close();
    const cluster = await createCluster(api.deps, origin, wish, true);
    expect(cluster.id).toBe(wish.clusterId);
  });
});

test("an intent that was settled is forgotten after two days, a pending one never", async () => {
  const [settled, pending] = [aWish("Settled long ago"), aWish("Still pending")];
  await crash(settled, 49 * 3600, async () => {});
  await crash(pending, 61, (deps) => writeAll(deps, pending));
  await sweep();
  expect([await stateOf(settled), await stateOf(pending)]).toEqual([undefined, "done"]);
});
