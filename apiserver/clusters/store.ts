import { Buffer } from "node:buffer";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { recordAudit } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { ApiError, dependencyUnavailable } from "../http/errors.ts";
import { asDeleting } from "../node-pools/store.ts";
import { type ProjectedCluster, projectObservations } from "../projection/store.ts";
import { writeWithIntent } from "../write-intents/store.ts";
import { presentAudit } from "./audit-fields.ts";
import { projectLive, readLive } from "./live.ts";

export { authorizedCidrs } from "./authorized-cidrs.ts";
export { hasPendingCreates } from "./intents.ts";
export { projectLive, readLive, requireCluster, requireNotDeleting } from "./live.ts";

/** Seconds after which a client may ask again for a kubeconfig that is not there yet. */
const KUBECONFIG_RETRY_SECONDS = 10;

/** Asks for a cluster's deletion; its record says deleting from now on. Throws 404 when it is gone already. */
export async function deleteCluster(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
): Promise<ProjectedCluster> {
  const live = await readLive(deps, cluster);
  if (live.metadata.deletionTimestamp !== undefined) return projectLive(live, cluster.orgId);
  let gone = false;
  const { object, tell } = await writeWithIntent(
    deps,
    origin,
    {
      kind: "Cluster",
      verb: "delete",
      metadata: live.metadata,
      entry: {
        action: "cluster.delete",
        orgId: cluster.orgId,
        target: { kind: "cluster", id: cluster.id },
        before: presentAudit(live.spec, live.metadata.name),
        result: "done",
      },
    },
    async () => {
      await deps.kube.delete(clusterKind, cluster.namespace, cluster.name, { uid: cluster.uid });
      const left = await deps.kube.get(clusterKind, cluster.namespace, cluster.name);
      gone = left?.metadata.uid !== cluster.uid;
      return gone || left === undefined ? asDeleting(live, deps.now()) : left;
    },
  );
  const projected = projectLive(object, cluster.orgId);
  await deps.db.transaction(async (tx) => {
    await tell(tx);
    await projectObservations(tx, [{ object: projected, gone }]);
  });
  return projected;
}

/**
 * The admin kubeconfig that the operator keeps for a cluster, as YAML. Every read is audited. Throws 409
 * cluster_not_ready until the cluster has been running once and while it is being deleted, 503 when the Kubernetes
 * API does not answer.
 */
export async function readAdminKubeconfig(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
): Promise<string> {
  requireAccessible(cluster);
  const text = await readAdminSecret(deps, cluster);
  await recordAudit(deps.db, origin, {
    action: "cluster.kubeconfig",
    orgId: cluster.orgId,
    target: { kind: "cluster", id: cluster.id },
    result: "done",
  });
  return text;
}

/** Throws 409 cluster_not_ready until the cluster has been running once, and while it is being deleted. */
export function requireAccessible(cluster: ProjectedCluster): void {
  if (cluster.status === "deleting") throw notReady("The cluster is being deleted.");
  if (cluster.object.status?.firstReadyAt === undefined)
    throw notReady("The control plane is still provisioning.");
}

/** The kubeconfig in the operator's Secret. Throws 409 cluster_not_ready before it is issued, 503. */
export async function readAdminSecret(deps: Deps, cluster: ProjectedCluster): Promise<string> {
  let value: string | undefined;
  try {
    const secret = await deps.kube.get(secretKind, cluster.namespace, `${cluster.name}-admin-kubeconfig`);
    value = secret?.data?.value;
  } catch (error) {
    throw dependencyUnavailable("The Kubernetes API", error);
  }
  if (value === undefined) throw notReady("The admin kubeconfig is being issued.");
  return Buffer.from(value, "base64").toString("utf8");
}

function notReady(why: string): ApiError {
  return new ApiError("cluster_not_ready", `The cluster is not ready: ${why}`, {
    retryAfterSeconds: KUBECONFIG_RETRY_SECONDS,
  });
}
