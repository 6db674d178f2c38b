import { describe, expect, test } from "vitest";
import { waitFor } from "../../e2e/platform/stack/testing.ts";
import { setUp } from "../../e2e/testing/set-up.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { countLockWaits } from "../db/testing.ts";
import type { Deps } from "../deps.ts";
import { deleteNodePool, updateNodePool } from "../node-pools/write.ts";
import { startTestApp } from "../testing/app.ts";
import { racing } from "./create/testing.ts";
import {
  type Created,
  createProtected,
  findNamespace,
  keepMark,
  PROTECTED_KINDS,
  protect,
  protectByKubectl,
  readLabel,
  setUpAdminClient,
} from "./testing-protection.ts";
import { changeCluster, deleteCluster } from "./write.ts";

const api = setUp(startTestApp);
const replica = setUp(() => startTestApp({ replicaOf: api }));
const admin = setUpAdminClient();

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
      updateNodePool(deps, caller, known.pool, { settings, immutable: {} }),
    remove: (deps: Deps, { caller, known }: Created) => deleteNodePool(deps, caller, known.pool),
  },
} as const;

/** What removes a label once `work` is done, without the deadline of its calls: on a slow machine the work takes seconds. */
function removingAfter(work: () => Promise<void>): Deps {
  const { kube } = api.deps;
  const mergePatch: KubeClient["mergePatch"] = async (kind, namespace, name, patch, options) => {
    await work();
    const { signal: _deadline, ...others } = options;
    return kube.mergePatch(kind, namespace, name, patch, others);
  };
  return { ...api.deps, kube: { ...kube, mergePatch } };
}

describe.each(PROTECTED_KINDS)("of a protected %s, while others change or delete it", (kind) => {
  test("a request that changes nothing waits for a label to be removed, and sets it again", async () => {
    const made = await createProtected(api, { [kind]: true });
    await protect(api, made.paths[kind], false);
    let repeating: ReturnType<typeof protect> | undefined;
    const deps = removingAfter(async () => {
      await protectByKubectl(api, made, true, kind);
      let isDone = false;
      repeating = protect(replica, made.paths[kind], true).finally(() => {
        isDone = true;
      });
      await waitFor(
        "the request to wait for the lock",
        async () => isDone || (await countLockWaits(api.deps.sql)) > 0,
      );
    });
    await keepMark(api, made, deps);
    expect((await repeating)?.status).toBe(200);
    expect(await readLabel(api, made)).toBe(made.labels[kind]);
  });

  test("no request has set what a deletion in another replica takes: the deletion comes first", async () => {
    const made = await createProtected(api);
    const { set, remove } = WRITES[kind];
    const deps = racing(api, "jsonPatch", () => remove(replica.deps, made));
    const refused = await set(deps, made).catch((error: { code?: string }) => error.code);
    expect(["conflict", "not_found"]).toContain(refused);
  });

  test("no request has set what a deletion in another replica takes: the protection comes first", async () => {
    const made = await createProtected(api);
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

  test("a label is not removed while a request sets the protection", async () => {
    const made = await createProtected(api);
    const deps = racing(replica, "jsonPatch", async () => {
      await expect(keepMark(api, made)).rejects.toThrow("is under way");
    });
    await WRITES[kind].set(deps, made);
    await keepMark(api, made);
    expect(await readLabel(api, made)).toBe(made.labels[kind]);
  });

  test("a request that sets the protection waits for a label to be removed, and sets it again", async () => {
    const made = await createProtected(api, { [kind]: true });
    await protect(api, made.paths[kind], false);
    let setting: Promise<unknown> = Promise.resolve();
    const deps = removingAfter(async () => {
      let isDone = false;
      setting = WRITES[kind].set(replica.deps, made).finally(() => {
        isDone = true;
      });
      await waitFor(
        "the request to wait for the lock",
        async () => isDone || (await countLockWaits(api.deps.sql)) > 0,
      );
    });
    await keepMark(api, made, deps);
    await setting;
    expect(await readLabel(api, made)).toBe(made.labels[kind]);
  });

  test("a request that sets the protection labels the Namespace when a removal without a response is over for Kubernetes", async () => {
    const made = await createProtected(api, { [kind]: true });
    await protect(api, made.paths[kind], false);
    const overAtMs: number[] = [];
    const markedAtMs: number[] = [];
    const marking = racing(replica, "mergePatch", async () => markedAtMs.push(performance.now()));
    let setting: Promise<unknown> = Promise.resolve();
    const mergePatch: KubeClient["mergePatch"] = async (...[, , , , { serverTimeoutMs = Infinity }]) => {
      overAtMs.push(performance.now() + serverTimeoutMs);
      setting = WRITES[kind].set(marking, made);
      throw new KubeError({ status: 0, reason: "DeadlineExceeded", kubeMessage: "no response" });
    };
    const removing = { ...api.deps, kube: { ...api.deps.kube, mergePatch } };
    await expect(keepMark(api, made, removing)).rejects.toThrow("no response");
    await setting;
    expect([overAtMs.length, markedAtMs.length]).toEqual([1, 1]);
    expect(markedAtMs[0]).toBeGreaterThanOrEqual(overAtMs[0] ?? Infinity);
    expect(await readLabel(api, made)).toBe(made.labels[kind]);
  });

  test("is not set in a Namespace that is being deleted, and none is deleted in which it is", async () => {
    const made = await createProtected(api);
    const removal = () => admin.delete(namespaceKind, undefined, made.namespace);
    const late = racing(api, "mergePatch", removal);
    await expect(WRITES[kind].set(late, made)).rejects.toMatchObject({ code: "conflict" });

    const other = await createProtected(api);
    const refusal = () =>
      expect(admin.delete(namespaceKind, undefined, other.namespace)).rejects.toMatchObject({ status: 403 });
    await WRITES[kind].set(racing(api, "jsonPatch", refusal), other);
    expect((await findNamespace(api, other))?.metadata.deletionTimestamp).toBeUndefined();
  });
});
