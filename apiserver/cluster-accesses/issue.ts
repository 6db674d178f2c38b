import { setTimeout as sleep } from "node:timers/promises";
import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import {
  ANNOTATION_REQUEST_ID,
  API_VERSION,
  FINALIZER,
  LABEL_API_TOKEN_ID,
  LABEL_CLUSTER_ID,
  LABEL_ID,
  LABEL_ORG_ID,
  LABEL_USER_ID,
  MANAGER_APISERVER,
} from "../../shared/crd/names.ts";
import { recordAudit } from "../audit/index.ts";
import { readAdminSecret, requireAccessible } from "../clusters/store.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { ApiError, dependencyUnavailable, notFound } from "../http/errors.ts";
import { createObjectName, type ProjectedCluster } from "../projection/store.ts";
import { isCertainlyNotWritten } from "../write-intents/store.ts";
import { createClientKey } from "./client-key.ts";
import { composeKubeconfig } from "./kubeconfig.ts";
import { summarize } from "./present-access.ts";

/** Signing and giving the right takes the operator a fraction of a second; a busy one gets this long. */
const SIGN_DEADLINE_MS = 15_000;
const POLL_MS = 100;

export interface AccessWish {
  id: string;
  ttlSeconds: number;
  /** Asked once more when the access is there: whether its holder may still have it. */
  mayHold: () => Promise<boolean>;
}

/**
 * Issues a kubeconfig of the caller's own: makes a key that stays in this process, lets the operator sign it for a
 * right that stands and falls with a ClusterAccess object, and audits it before anybody gets to see it. What does not
 * come to a good end leaves no access behind. Throws 409 cluster_not_ready, 409 conflict for an access too many, 404
 * for a holder who was removed meanwhile, 503 when nobody signs in time.
 */
export async function issueKubeconfig(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  wish: AccessWish,
): Promise<{ access: ClusterAccess; kubeconfig: string }> {
  requireAccessible(cluster);
  const adminKubeconfig = await readAdminSecret(deps, cluster);
  const { privateKey, csr } = await createClientKey(origin.principal.userId);
  const object = toObject(origin, cluster, wish, csr);
  try {
    const made = await deps.kube.create(clusterAccessKind, object, { fieldManager: MANAGER_APISERVER });
    const access = await untilSigned(deps, made);
    // Whoever is removed from here on finds the object, and takes it away.
    if (!(await wish.mayHold())) throw notFound("organization");
    const { subject } = access.spec;
    const kubeconfig = composeKubeconfig(cluster.name, adminKubeconfig, {
      user: subject,
      certificate: access.status?.certificate ?? "",
      privateKey,
    });
    await recordAudit(deps.db, origin, {
      action: "cluster_access.create",
      orgId: cluster.orgId,
      target: { kind: "cluster_access", id: wish.id },
      after: { cluster_id: cluster.id, subject, ttl_seconds: wish.ttlSeconds },
      result: "done",
    });
    return { access, kubeconfig };
  } catch (error) {
    if (!isCertainlyNotWritten(error)) await discard(deps, object);
    throw error;
  }
}

function toObject(origin: Origin, cluster: ProjectedCluster, wish: AccessWish, csr: string): ClusterAccess {
  const { principal, requestId } = origin;
  return {
    apiVersion: API_VERSION,
    kind: clusterAccessKind.kind,
    metadata: {
      namespace: cluster.namespace,
      name: createObjectName(`${cluster.displayName} access`, "access"),
      labels: {
        [LABEL_ID]: wish.id,
        [LABEL_ORG_ID]: cluster.orgId,
        [LABEL_CLUSTER_ID]: cluster.id,
        [LABEL_USER_ID]: principal.userId,
        ...(principal.kind === "token" ? { [LABEL_API_TOKEN_ID]: principal.tokenId } : {}),
      },
      annotations: { [ANNOTATION_REQUEST_ID]: requestId },
      finalizers: [FINALIZER],
    },
    spec: { clusterName: cluster.name, subject: principal.userId, ttlSeconds: wish.ttlSeconds, csr },
  };
}

async function untilSigned({ kube }: Deps, { metadata }: ClusterAccess): Promise<ClusterAccess> {
  const { namespace, name, uid } = metadata;
  const giveUpAt = performance.now() + SIGN_DEADLINE_MS;
  for (;;) {
    const access = await kube.get(clusterAccessKind, namespace, name);
    if (access === undefined || access.metadata.uid !== uid) throw taken();
    const { status, message } = summarize(access);
    if (status === "active") return access;
    if (status === "revoking") throw taken();
    if (status === "refused") throw refused(message);
    if (performance.now() > giveUpAt) throw dependencyUnavailable("The signer of the cluster", message);
    await sleep(POLL_MS);
  }
}

/** There are accesses too many, most of all: another one may go. */
function refused(message: string | null): ApiError {
  return new ApiError("conflict", message ?? "The access is refused.", { retryAfterSeconds: 10 });
}

function taken(): ApiError {
  return new ApiError("conflict", "The access was revoked while it was being issued.");
}

/** Nobody holds its key, so what cannot be deleted now opens nothing, and ends by itself. */
async function discard({ kube, log }: Deps, { metadata }: ClusterAccess): Promise<void> {
  const { namespace, name } = metadata;
  try {
    await kube.delete(clusterAccessKind, namespace, name);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    log.warn({ name, message }, "an access that was not handed out could not be deleted");
  }
}
