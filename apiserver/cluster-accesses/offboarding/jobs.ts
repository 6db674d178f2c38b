import { clusterKind } from "../../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../../shared/crd/cluster-access.ts";
import { recordSystemAudits } from "../../audit/index.ts";
import type { Deps } from "../../deps.ts";
import { organizationNamespace } from "../../organizations/index.ts";
import { findCluster, type ProjectedCluster } from "../../resources/project/index.ts";
import type { EndedRight } from "../table.ts";
import {
  completeOffboardings,
  isRotationPending,
  listPendingRights,
  markRightsEnded,
  setGeneration,
} from "./store.ts";

const BATCH = 100;

/**
 * Sees which rights that are to end have ended, in the clusters too, and completes and audits each end of a membership of
 * which nothing is pending.
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
 * Notes the present generation for a right of which the revocation is done without one, as a replica of an earlier version
 * does it. Read from the Kubernetes API, since the projection may be older than the revocation.
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
