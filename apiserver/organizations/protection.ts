import { clusterKind } from "../../shared/crd/cluster.ts";
import { chooseProtectedLabel, isProtected, type Protectable } from "../../shared/crd/fields.ts";
import { LABEL_ORG_ID, LABEL_PROTECTED, MANAGER_APISERVER } from "../../shared/crd/names.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient, PatchOptions } from "../../shared/kube/client.ts";
import { type Namespace, namespaceKind } from "../../shared/kube/core-kinds.ts";
import { hadNoEffect, KubeError } from "../../shared/kube/errors.ts";
import { sleep } from "../../shared/program/time.ts";
import type { Deps } from "../deps.ts";
import { ApiError } from "../http/errors.ts";
import { isProtectionIntended } from "../resources/write/index.ts";
import { findKnownOrganizations, lockOrganization } from "./store.ts";

/** For all calls under the lock. With the wait after it a change in the organization waits 5 s: a statement may take 10 s. */
const DEADLINE_MS = 3_000;
/** In which Kubernetes ends a patch that has reached it, whether or not the client still waits for the response. */
const SERVER_TIMEOUT_MS = 2_000;

/**
 * Has the Namespace of an organization say what is protected from deletion in it: `objects` are its Clusters and NodePools, perhaps
 * as they were a moment ago. The label is removed under the lock that a write by REST takes before its own (`protectNamespace`),
 * after a live look, so that no request that protects something is accepted without it. Throws a KubeError, and an error
 * while such a write is under way: call it again then.
 */
export async function keepProtection(
  deps: Pick<Deps, "db" | "kube">,
  namespace: Namespace,
  objects: readonly Protectable[],
): Promise<void> {
  const { name, labels = {}, deletionTimestamp } = namespace.metadata;
  const current = labels[LABEL_PROTECTED];
  const wanted = chooseProtectedLabel(current, objects);
  if (wanted === current || deletionTimestamp !== undefined) return;
  const orgId = labels[LABEL_ORG_ID] ?? "";
  if (!(await findKnownOrganizations(deps.db, [orgId])).has(orgId)) return;
  if (wanted === undefined) await removeLabel(deps, orgId, name);
  else await setLabel(deps.kube, name, wanted, { timeoutMs: DEADLINE_MS });
}

async function removeLabel(
  { db, kube }: Pick<Deps, "db" | "kube">,
  orgId: string,
  namespace: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    try {
      await lockOrganization(tx, orgId);
    } catch (error) {
      // No request protects anything in a deleted organization: there is nothing to lock.
      if (!(error instanceof ApiError && error.code === "not_found")) throw error;
    }
    if (await isProtectionIntended(tx, namespace))
      throw new Error(`a write that protects something in ${namespace} is under way`);
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const options = { namespace, fieldSelector: "spec.deletionProtection=true", signal };
    const live = await Promise.all([kube.listAll(clusterKind, options), kube.listAll(nodePoolKind, options)]);
    if (live.flat().some(isProtected)) return;
    try {
      await setLabel(kube, namespace, null, { signal, serverTimeoutMs: SERVER_TIMEOUT_MS });
    } catch (error) {
      // The patch may still be made, which must come before the label of the next change: that has to wait for the lock.
      if (!hadNoEffect(error)) await sleep(SERVER_TIMEOUT_MS);
      throw error;
    }
  });
}

/** Null removes it. Does nothing where the Namespace is gone. */
async function setLabel(
  kube: KubeClient,
  namespace: string,
  value: string | null,
  limits: Pick<PatchOptions, "signal" | "timeoutMs" | "serverTimeoutMs">,
): Promise<void> {
  const patch = { metadata: { labels: { [LABEL_PROTECTED]: value } } };
  const options = { fieldManager: MANAGER_APISERVER, ...limits };
  await kube.mergePatch(namespaceKind, undefined, namespace, patch, options).catch((error: unknown) => {
    if (!(error instanceof KubeError && error.isNotFound)) throw error;
  });
}
