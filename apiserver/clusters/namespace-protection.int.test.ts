import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_PROTECTED } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { loadConnection } from "../../shared/kube/connection.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { sleep } from "../../shared/kube/sleep.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import { deleteNodePool, updateNodePool } from "../node-pools/write.ts";
import { keepProtection } from "../organizations/index.ts";
import { lockOrganization } from "../organizations/store.ts";
import { organizations } from "../organizations/table.ts";
import { startProjector } from "../resources/project/projector.ts";
import { requireCluster, requireNodePool } from "../resources/write/index.ts";
import { startTestApp, type TestApp } from "../testing/app.ts";
import { author, racing } from "./create/testing.ts";
import { changeCluster, deleteCluster } from "./write.ts";

let api: TestApp;
let replica: TestApp;
let admin: KubeClient;

beforeAll(async () => {
  api = await startTestApp();
  replica = await startTestApp({ replicaOf: api });
  const transport = createTransport({ connection: loadConnection(readStack().kubeconfig) });
  admin = createClient(transport);
  return () => transport.close();
});
afterAll(async () => {
  await replica.close();
  await api.close();
});

const POOL = { name: "web", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 1 };

/** A cluster with a pool in an organization of its own, of a plan whose class takes no cluster. */
async function create(protection: { cluster?: boolean; pool?: boolean } = {}) {
  const orgId = await api.createOrganization();
  const clusters = `/api/v1/organizations/${orgId}/clusters`;
  const { status, body: record } = await api.request("POST", clusters, {
    body: {
      name: "Shop",
      k8s_version: "1.34",
      plan: "scale",
      deletion_protection: protection.cluster ?? false,
      node_pools: [{ ...POOL, deletion_protection: protection.pool ?? false }],
    },
  });
  expect(status).toBe(202);
  const cluster = `${clusters}/${record.id}`;
  const [pool] = (await api.request("GET", `${cluster}/nodepools`)).body.items;
  const caller: Caller = { author, confirm: (tx) => lockOrganization(tx, orgId), slot: undefined };
  const known = await requireCluster(api.deps.db, orgId, record.id);
  const knownPool = await requireNodePool(api.deps.db, orgId, record.id, pool.id);
  const labels = { cluster: `cluster.${known.name}`, pool: `node-pool.${knownPool.name}` };
  const paths = { cluster, pool: `${cluster}/nodepools/${pool.id}` };
  return {
    orgId,
    namespace: known.namespace,
    labels,
    paths,
    caller,
    known: { cluster: known, pool: knownPool },
  };
}
type Created = Awaited<ReturnType<typeof create>>;

const findNamespace = (name: string) => api.deps.kube.get(namespaceKind, undefined, name);
const readLabel = async ({ namespace }: Created) =>
  (await findNamespace(namespace))?.metadata.labels?.[LABEL_PROTECTED];

/** What the projector does after a change; with `objects` as it has them. */
async function keep(deps: Deps, { namespace }: Created, objects?: []) {
  const [found, clusters, pools] = await Promise.all([
    findNamespace(namespace),
    api.deps.kube.listAll(clusterKind, { namespace }),
    api.deps.kube.listAll(nodePoolKind, { namespace }),
  ]);
  if (found === undefined) throw new Error(`${namespace} is gone`);
  await keepProtection(deps, found, objects ?? [...clusters, ...pools]);
}

const protect = (path: string, value: boolean, app = api) =>
  app.request("PUT", path, { body: { deletion_protection: value } });

const BY_KUBECTL = { fieldManager: "kubectl-edit" };
function byKubectl({ namespace, known }: Created, deletionProtection: boolean | null) {
  const patch = { spec: { deletionProtection } };
  return api.deps.kube.mergePatch(clusterKind, namespace, known.cluster.name, patch, BY_KUBECTL);
}

const settings = { deletionProtection: true } as const;
/** The writes of each kind by one of the replicas. */
const WRITES = {
  cluster: {
    set: (deps: Deps, { caller, known }: Created) =>
      changeCluster(deps, caller, known.cluster, {
        action: "cluster.update",
        preconditions: undefined,
        merge: () => ({ outcome: "patch", patch: settings }),
      }),
    remove: (deps: Deps, { caller, known }: Created) => deleteCluster(deps, caller, known.cluster),
  },
  pool: {
    set: (deps: Deps, { caller, known }: Created) =>
      updateNodePool(deps, caller, known.pool, { settings, fixed: {} }),
    remove: (deps: Deps, { caller, known }: Created) => deleteNodePool(deps, caller, known.pool),
  },
} as const;
const KINDS = ["cluster", "pool"] as const;

describe.each(KINDS)("of a protected %s", (kind) => {
  test("the Namespace is marked by the request that creates it, and as long as it is protected", async () => {
    const made = await create({ [kind]: true });
    expect(await readLabel(made)).toBe(made.labels[kind]);
    await keep(api.deps, made);
    expect(await readLabel(made)).toBe(made.labels[kind]);
    expect((await protect(made.paths[kind], false)).status).toBe(200);
    await keep(api.deps, made);
    expect(await readLabel(made)).toBeUndefined();
  });

  test("the Namespace is marked by the request that sets it, and not by its dry run", async () => {
    const made = await create();
    const dryRun = await protect(`${made.paths[kind]}?dry_run=true`, true);
    expect([dryRun.status, await readLabel(made)]).toEqual([200, undefined]);
    const { status, body } = await protect(made.paths[kind], true);
    expect([status, body.deletion_protection]).toEqual([200, true]);
    expect(await readLabel(made)).toBe(made.labels[kind]);
    const state = async () => (await api.request("GET", made.paths[kind])).body.deletion_protection_state;
    expect(["pending", "on"]).toContain(await state());
  });

  test("the Namespace is deleted by no administrator", async () => {
    const { namespace } = await create({ [kind]: true });
    const removal = admin.delete(namespaceKind, undefined, namespace);
    await expect(removal).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining(
        "is protected from deletion: set spec.deletionProtection to false first.",
      ),
    } satisfies Partial<KubeError>);
  });

  test("no request has set what a deletion in another replica takes: the deletion comes first", async () => {
    const made = await create();
    const { set, remove } = WRITES[kind];
    const deps = racing(api, "jsonPatch", () => remove(replica.deps, made));
    const refused = await set(deps, made).catch((error: { code?: string }) => error.code);
    expect(["conflict", "not_found"]).toContain(refused);
  });

  test("no request has set what a deletion in another replica takes: the protection comes first", async () => {
    const made = await create();
    const { set, remove } = WRITES[kind];
    const deps = racing(api, "delete", () => set(replica.deps, made));
    await expect(remove(deps, made)).rejects.toMatchObject({ code: "deletion_protected" });
    const { object } = made.known[kind];
    const { name } = object.metadata;
    const found = await (kind === "pool"
      ? api.deps.kube.get(nodePoolKind, made.namespace, name)
      : api.deps.kube.get(clusterKind, made.namespace, name));
    expect([found?.spec.deletionProtection, found?.metadata.deletionTimestamp]).toEqual([true, undefined]);
  });

  test("a mark is not removed while a request sets the protection", async () => {
    const made = await create();
    const deps = racing(replica, "jsonPatch", async () => {
      await expect(keep(api.deps, made)).rejects.toThrow("is under way");
    });
    await WRITES[kind].set(deps, made);
    await keep(api.deps, made);
    expect(await readLabel(made)).toBe(made.labels[kind]);
  });

  test("a request that sets the protection waits for a mark to be removed, and sets it again", async () => {
    const made = await create({ [kind]: true });
    await protect(made.paths[kind], false);
    let setting: Promise<unknown> = Promise.resolve();
    const deps = racing(api, "mergePatch", async () => {
      let isDone = false;
      setting = WRITES[kind].set(replica.deps, made).finally(() => {
        isDone = true;
      });
      await waitFor("the request to wait for the lock", async () => isDone || (await isSomeoneWaiting()));
    });
    await keep(deps, made);
    await setting;
    expect(await readLabel(made)).toBe(made.labels[kind]);
  });

  test("a mark is not removed any more after a request that sets the protection, also when the removal came late", async () => {
    const made = await create({ [kind]: true });
    await protect(made.paths[kind], false);
    const pending: Promise<unknown>[] = [];
    const unmark = { metadata: { labels: { [LABEL_PROTECTED]: null } } };
    const deps = racing(api, "mergePatch", async () => {
      pending.push(WRITES[kind].set(replica.deps, made));
      pending.push(
        sleep(500).then(() => admin.mergePatch(namespaceKind, undefined, made.namespace, unmark, BY_KUBECTL)),
      );
      throw new KubeError({ status: 0, reason: "DeadlineExceeded", kubeMessage: "no response" });
    });
    await expect(keep(deps, made)).rejects.toThrow("no response");
    await Promise.all(pending);
    expect(await readLabel(made)).toBe(made.labels[kind]);
  });

  test("is not set in a Namespace that is being deleted, and none is deleted in which it is", async () => {
    const made = await create();
    const removal = () => admin.delete(namespaceKind, undefined, made.namespace);
    const late = racing(api, "mergePatch", removal);
    await expect(WRITES[kind].set(late, made)).rejects.toMatchObject({ code: "conflict" });

    const other = await create();
    const refusal = () =>
      expect(admin.delete(namespaceKind, undefined, other.namespace)).rejects.toMatchObject({ status: 403 });
    await WRITES[kind].set(racing(api, "jsonPatch", refusal), other);
    expect((await findNamespace(other.namespace))?.metadata.deletionTimestamp).toBeUndefined();
  });
});

/** Whether a statement of this test's database waits for a lock. */
async function isSomeoneWaiting(): Promise<boolean> {
  const rows = await api.deps.db.execute(
    sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rows.length > 0;
}

test("the projector marks and unmarks the Namespace of what kubectl protects, and the record says when it holds", async () => {
  const made = await create();
  const stop = new AbortController();
  const { stopped } = startProjector(api.deps, stop.signal, {
    keepProtection: (namespace, objects) => keepProtection(api.deps, namespace, objects),
  });
  onTestFinished(async () => {
    stop.abort();
    await stopped;
  });
  const { paths } = made;
  const stateIs = (wanted: string) =>
    waitFor(`the record to say ${wanted}`, async () => {
      const { body } = await api.request("GET", paths.cluster);
      return body.deletion_protection_state === wanted;
    });
  await byKubectl(made, true);
  await stateIs("on");
  expect(await readLabel(made)).toBe(made.labels.cluster);
  await byKubectl(made, null);
  await waitFor("the label to go", async () => (await readLabel(made)) === undefined);
  await stateIs("off");
});

test("the mark of a deleted organization's Namespace goes with the last protection in it", async () => {
  const made = await create({ cluster: true });
  const { orgId, labels } = made;
  await api.deps.db.update(organizations).set({ deletedAt: sql`now()` }).where(eq(organizations.id, orgId));
  await keep(api.deps, made, []);
  expect(await readLabel(made)).toBe(labels.cluster);
  await byKubectl(made, false);
  await keep(api.deps, made);
  expect(await readLabel(made)).toBeUndefined();
});

test("what is protected in a Namespace that is deleted all the same stays, and says how it goes", async () => {
  const made = await create();
  const { namespace, known } = made;
  const { kube } = api.deps;
  await byKubectl(made, true);
  await admin.delete(namespaceKind, undefined, namespace);
  await waitFor("the message", async () => {
    const { status } = (await kube.get(clusterKind, namespace, known.cluster.name)) ?? {};
    return status?.message?.includes("set spec.deletionProtection to false to let it go");
  });
  await waitFor("the pool to go", async () => {
    return (await kube.get(nodePoolKind, namespace, known.pool.name)) === undefined;
  });
  const left = await kube.get(clusterKind, namespace, known.cluster.name);
  expect(left?.metadata.deletionTimestamp).toBeUndefined();
  await byKubectl(made, false);
  await waitFor("the Namespace to go", async () => (await findNamespace(namespace)) === undefined);
});
