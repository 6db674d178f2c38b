import { Buffer } from "node:buffer";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { recordAudit } from "../audit/store.ts";
import type { Deps } from "../deps.ts";
import { ApiError, dependencyUnavailable } from "../http/errors.ts";
import type { Origin } from "../http/principal.ts";
import { asDeleting } from "../node-pools/store.ts";
import { type ProjectedCluster, projectSights } from "../projection/store.ts";
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
  await deps.kube.delete(clusterKind, cluster.namespace, cluster.name, { uid: cluster.uid });
  const left = await deps.kube.get(clusterKind, cluster.namespace, cluster.name);
  const gone = left?.metadata.uid !== cluster.uid;
  const projected = projectLive(gone ? asDeleting(live, deps.now()) : left, cluster.orgId);
  await deps.db.transaction(async (tx) => {
    await recordAudit(tx, origin, {
      action: "cluster.delete",
      orgId: cluster.orgId,
      target: { kind: "cluster", id: cluster.id },
      before: presentAudit(live.spec, live.metadata.name),
      result: "done",
    });
    await projectSights(tx, [{ object: projected, gone }]);
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
  if (cluster.status === "deleting") throw notReady("The cluster is being deleted.");
  if (cluster.object.status?.firstReadyAt === undefined)
    throw notReady("The control plane is still provisioning.");
  const text = await readSecret(deps, cluster);
  await recordAudit(deps.db, origin, {
    action: "cluster.kubeconfig",
    orgId: cluster.orgId,
    target: { kind: "cluster", id: cluster.id },
    result: "done",
  });
  return text;
}

async function readSecret(deps: Deps, cluster: ProjectedCluster): Promise<string> {
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
