import { Buffer } from "node:buffer";
import { nameAdminSecret } from "../../../shared/crd/admin-secret.ts";
import { toRestWords } from "../../../shared/crd/rest-words.ts";
import { secretKind } from "../../../shared/kube/core-kinds.ts";
import { recordAudit } from "../../audit/index.ts";
import type { Deps } from "../../deps.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { asAuthorized, type Caller, transactAs } from "../../http/contract/caller.ts";
import { ApiError, dependencyUnavailable } from "../../http/errors.ts";
import { findCluster, type ProjectedCluster } from "../../resources/project/index.ts";
import type { ClusterMerge } from "../merge-update.ts";
import { changeCluster, readLiveCluster } from "../write.ts";

const RETRY_SECONDS = 10;

/** How long a downloaded admin kubeconfig is valid at most: the operator issues it for so long. */
export const ADMIN_KUBECONFIG_LIFETIME_DAYS = 7;
/** The action in the audit row of each download. */
export const DOWNLOAD_ACTION = "cluster.kubeconfig";

/**
 * The admin kubeconfig that the operator keeps for a cluster, as YAML. Every read is audited, in the
 * transaction that confirms the caller's right. Throws what `requireAccessible`, `readAdminSecret` and `caller.confirm`
 * throw.
 */
export async function readAdminKubeconfig(
  deps: Deps,
  caller: Caller,
  cluster: ProjectedCluster,
): Promise<string> {
  requireAccessible(cluster);
  const text = await readAdminSecret(deps, cluster);
  await transactAs(deps.db, caller, (tx) =>
    recordAudit(tx, caller.author, {
      action: DOWNLOAD_ACTION,
      orgId: cluster.orgId,
      target: { kind: "cluster", id: cluster.id },
      result: "done",
    }),
  );
  return text;
}

/**
 * Throws 409 cluster_not_ready until the cluster has been running once, with the reason when it has failed, and while
 * it is being deleted.
 */
export function requireAccessible(cluster: ProjectedCluster): void {
  if (cluster.status === "deleting") throw notReady("The cluster is being deleted.");
  const { status } = cluster.object;
  if (status?.firstReadyAt !== undefined) return;
  if (cluster.status === "failed" && status?.message !== undefined)
    throw notReady(`It has failed: ${toRestWords(status.message)}`);
  throw notReady("The control plane is still provisioning.");
}

/** The kubeconfig in the operator's Secret. Throws 409 cluster_not_ready before it is issued, 503. */
export async function readAdminSecret(
  deps: Pick<Deps, "kube">,
  cluster: ProjectedCluster,
  signal?: AbortSignal,
): Promise<string> {
  let value: string | undefined;
  try {
    const name = nameAdminSecret(cluster.name);
    const secret = await deps.kube.get(secretKind, cluster.namespace, name, { signal });
    value = secret?.data?.value;
  } catch (error) {
    throw dependencyUnavailable("The Kubernetes API", error);
  }
  if (value === undefined) throw notReady("The admin kubeconfig is being issued.");
  return Buffer.from(value, "base64").toString("utf8");
}

function notReady(reason: string): ApiError {
  return new ApiError("cluster_not_ready", `The cluster is not ready: ${reason}`, {
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** The generation of a cluster's admin credentials. */
export function generationOf({ object }: ProjectedCluster): number {
  return object.spec.credentialsGeneration ?? 0;
}

/** The next generation of a cluster's admin credentials: it revokes every admin kubeconfig that was issued before. */
export function mergeNextGeneration(cluster: ProjectedCluster): ClusterMerge {
  return { outcome: "patch", patch: { credentialsGeneration: generationOf(cluster) + 1 } };
}

/** The next generation of a cluster, as the Kubernetes API has it now; undefined for a cluster that is deleted. */
export async function findNextGeneration(
  { db, kube }: Pick<Deps, "db" | "kube">,
  orgId: string,
  clusterId: string,
): Promise<number | undefined> {
  const cluster = await findCluster(db, orgId, clusterId);
  return cluster && generationOf(await readLiveCluster(kube, cluster)) + 1;
}

/**
 * Has the admin credentials of a cluster be of this generation at least, which revokes its earlier admin kubeconfigs; the author
 * is the request that ended a right to them. Nothing is to be done for a cluster that is deleted. Throws what `changeCluster`
 * throws.
 */
export async function ensureCredentialsGeneration(
  deps: Deps,
  author: Author,
  { orgId, clusterId, generation }: { orgId: string; clusterId: string; generation: number },
): Promise<void> {
  const cluster = await findCluster(deps.db, orgId, clusterId);
  if (cluster === undefined) return;
  try {
    await changeCluster(deps, asAuthorized(author), cluster, {
      action: "cluster.rotate_credentials",
      preconditions: undefined,
      merge: (current) => ({
        outcome: "patch",
        patch: generationOf(current) < generation ? { credentialsGeneration: generation } : {},
      }),
    });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "not_found")) throw error;
  }
}
