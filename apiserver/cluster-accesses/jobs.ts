import { clusterKind } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind, hasConfirmation } from "../../shared/crd/cluster-access.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { doAsSystem, recordSystemAudits } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import { systemAuthor } from "../http/authentication/principal.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { organizationNamespace } from "../organizations/index.ts";
import { findCluster, type ProjectedCluster } from "../resources/project/index.ts";
import { collectErrors, type PeriodicJob, throwFirst } from "../work/periodic.ts";
import { revokeIfThere, toFound } from "./accesses.ts";
import { findNamed, findRights, type HeldAccess, holderOf, organizationOf, parseId } from "./holder.ts";
import { purgeEnded } from "./observe/store.ts";
import {
  completeOffboardings,
  isRotationPending,
  listPendingRights,
  markRightsEnded,
  purgeOffboardings,
  setGeneration,
} from "./offboarding/store.ts";
import { runRevocations } from "./revocations.ts";
import type { EndedRight } from "./table.ts";

/** The job of accesses whose holders have lost the right to them. */
const SWEEP = "cluster-accesses";
const SWEEP_EVERY_MS = 30_000;
const PENDING_EVERY_MS = 2_000;
const PURGE_EVERY_MS = 3_600_000;
const FOLLOW_EVERY_MS = 5_000;
const BATCH = 100;

/** The jobs that revoke the kubeconfigs of members and tokens that have lost the right to them. */
export function clusterAccessJobs(deps: Deps): PeriodicJob[] {
  return [
    {
      name: "kubeconfig-revocations",
      everyMs: PENDING_EVERY_MS,
      run: (signal) => runRevocations(deps, { signal }),
    },
    { name: "purge-observed-accesses", everyMs: PURGE_EVERY_MS, run: () => purgeEnded(deps.db) },
    { name: "offboardings", everyMs: FOLLOW_EVERY_MS, run: (signal) => followOffboardings(deps, signal) },
    { name: "purge-offboardings", everyMs: PURGE_EVERY_MS, run: () => purgeOffboardings(deps.db) },
    { name: SWEEP, everyMs: SWEEP_EVERY_MS, run: (signal) => sweepAccesses(deps, signal) },
  ];
}

/**
 * Revokes each access whose holder has lost the right to it: of those for the id of a user, and of those by kubectl that a
 * confirmation of the records confirmed for an e-mail address, issued or not. What was issued to another subject without one, and
 * organizations that are not in this database, are left alone.
 */
async function sweepAccesses(deps: Deps, signal: AbortSignal): Promise<void> {
  const accesses = await deps.kube.listAll(clusterAccessKind, { signal });
  const held = accesses.flatMap((access) => {
    const { deletionTimestamp } = access.metadata;
    const orgId = organizationOf(access);
    const isTheirs =
      holderOf(access) !== undefined || (hasConfirmation(access) && findNamed(access) !== undefined);
    return isTheirs && orgId !== undefined && deletionTimestamp === undefined ? [{ access, orgId }] : [];
  });
  if (held.length === 0) return;
  const mayHold = await findRights(deps.db, held);
  const ended = held.filter((one) => !mayHold(one));
  const errors = await collectErrors(ended, signal, async (one) => {
    const { access, orgId } = one;
    const found = toFound(access);
    const id = await findClusterId(deps, access, signal);
    // What has no cluster opens nothing; the operator deletes it if it was issued.
    if (id === undefined) return;
    if (found === undefined) await deleteWithoutId(deps, one, id, signal);
    else await revokeIfThere(deps, asAuthorized(systemAuthor(SWEEP)), { orgId, id }, found);
    const { name } = access.metadata;
    deps.log.info({ orgId, name }, "revoked an access whose holder has lost the right to it");
  });
  throwFirst(errors);
}

/** Deletes an access that no intent can name; its audit row has the object's uid in place of the id. */
async function deleteWithoutId(
  { db, kube }: Pick<Deps, "db" | "kube">,
  { access: { metadata, spec }, orgId }: HeldAccess,
  clusterId: string,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid = "" } = metadata;
  const entry = {
    action: "cluster_access.revoke",
    orgId,
    target: { kind: "cluster_access", id: uid },
    before: { cluster_id: clusterId, subject: spec.subject, ttl_seconds: spec.ttlSeconds },
  } as const;
  try {
    await doAsSystem(db, SWEEP, entry, () =>
      kube.delete(clusterAccessKind, namespace, name, { uid, signal }),
    );
  } catch (error) {
    // Another object has its name by now: the next run looks at that.
    if (!(error instanceof KubeError && error.isConflict)) throw error;
  }
}

/** The cluster in the label of an access, or the one that it names where the label holds no id. */
async function findClusterId(
  { kube }: Pick<Deps, "kube">,
  { metadata, spec }: ClusterAccess,
  signal: AbortSignal,
): Promise<string | undefined> {
  const labelled = parseId(metadata.labels?.[LABEL_CLUSTER_ID]);
  if (labelled !== undefined) return labelled;
  const cluster = await kube.get(clusterKind, metadata.namespace, spec.clusterName, { signal });
  return cluster && parseId(idOf(cluster));
}

/**
 * Sees which rights that are to end have ended, in the clusters too, and completes and audits each end of a membership
 * of which nothing is pending.
 */
export async function followOffboardings(deps: Deps, signal: AbortSignal): Promise<void> {
  let cursor: string | undefined;
  do {
    const pending = await listPendingRights(deps.db, { cursor, limit: BATCH });
    const ended: string[] = [];
    for (const right of pending) if (await hasEnded(deps, right, signal)) ended.push(right.id);
    await markRightsEnded(deps.db, ended);
    cursor = pending.length === BATCH ? pending.at(-1)?.id : undefined;
  } while (cursor !== undefined && !signal.aborted);
  await complete(deps);
}

/** An access has ended when its object is gone, and admin credentials when a later generation alone has a right. */
async function hasEnded(deps: Deps, right: EndedRight, signal: AbortSignal): Promise<boolean> {
  const { db, kube } = deps;
  const { kind, orgId, clusterId, objectName, objectUid, generation } = right;
  if (kind === "api_token") return true;
  if (kind === "cluster_access") {
    const namespace = organizationNamespace(orgId);
    const access = await kube.get(clusterAccessKind, namespace, objectName ?? "", { signal });
    return access?.metadata.uid !== objectUid;
  }
  const cluster = await findCluster(db, orgId, clusterId ?? "");
  if (cluster === undefined) return true;
  if (generation === null) await findGeneration(deps, right, cluster, signal);
  const { credentialsGeneration: enforced } = cluster.object.status ?? {};
  return generation !== null && enforced !== undefined && enforced >= generation;
}

/**
 * Notes the present generation for a right of which the revocation is done without one, as a replica of an earlier
 * version does it. Read from the Kubernetes API, since the projection may be older than the revocation.
 */
async function findGeneration(
  { db, kube }: Deps,
  { orgId, memberId, clusterId }: EndedRight,
  { namespace, name }: ProjectedCluster,
  signal: AbortSignal,
): Promise<void> {
  if (clusterId === null || (await isRotationPending(db, orgId, { memberId, clusterId }))) return;
  const object = await kube.get(clusterKind, namespace, name, { signal });
  if (object === undefined) return;
  const generation = object.spec.credentialsGeneration ?? 0;
  await setGeneration(db, orgId, { memberId, clusterId, generation });
}

async function complete({ db }: Pick<Deps, "db">): Promise<void> {
  await db.transaction(async (tx) => {
    const completed = await completeOffboardings(tx);
    await recordSystemAudits(
      tx,
      "offboarding",
      completed.map(({ orgId, memberId, userId, removedAt, completedAt }) => ({
        action: "member.offboard",
        orgId,
        target: { kind: "member", id: memberId },
        after: {
          user_id: userId,
          removed_at: removedAt.toISOString(),
          completed_at: completedAt?.toISOString() ?? null,
        },
        result: "done",
      })),
    );
  });
}
