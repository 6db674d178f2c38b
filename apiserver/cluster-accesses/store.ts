import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_API_TOKEN_ID, LABEL_USER_ID } from "../../shared/crd/names.ts";
import type { AuditEntry } from "../audit/index.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { notFound } from "../http/errors.ts";
import { organizationNamespace } from "../organizations/index.ts";
import type { ProjectedCluster } from "../projection/store.ts";
import { writeWithIntent } from "../write-intents/store.ts";
import { idOf } from "./present-access.ts";

/** An access and its public id. */
export interface FoundAccess {
  id: string;
  access: ClusterAccess;
}

/** The accesses to a cluster as the Kubernetes API has them now, in the order of their id; one more than `limit`. */
export async function listAccesses(
  deps: Pick<Deps, "kube">,
  cluster: ProjectedCluster,
  { cursor = "", limit }: PageRequest,
): Promise<FoundAccess[]> {
  const all = await findAll(deps, cluster);
  return all
    .filter(({ id }) => id > cursor)
    .sort((left, right) => (left.id < right.id ? -1 : 1))
    .slice(0, limit + 1);
}

/** One access to a cluster. Throws 404. */
export async function requireAccess(
  deps: Pick<Deps, "kube">,
  cluster: ProjectedCluster,
  accessId: string,
): Promise<FoundAccess> {
  const found = (await findAll(deps, cluster)).find(({ id }) => id === accessId);
  if (found === undefined) throw notFound("access");
  return found;
}

/** Takes one access away; all others stay as they are. Asking again while it goes changes nothing. */
export async function revokeAccess(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  { id, access }: FoundAccess,
): Promise<void> {
  const { namespace, name, uid, deletionTimestamp } = access.metadata;
  if (deletionTimestamp !== undefined) return;
  const { subject, ttlSeconds } = access.spec;
  const entry: AuditEntry = {
    action: "cluster_access.revoke",
    orgId: cluster.orgId,
    target: { kind: "cluster_access", id },
    before: { cluster_id: cluster.id, subject, ttl_seconds: ttlSeconds },
    result: "done",
  };
  const { tell } = await writeWithIntent(
    deps,
    origin,
    { kind: "ClusterAccess", verb: "delete", metadata: access.metadata, entry },
    async () => {
      await deps.kube.delete(clusterAccessKind, namespace, name, { uid });
      return access;
    },
  );
  await deps.db.transaction(tell);
}

/** Somebody who held accesses in an organization, and holds the right to them no more. */
export type FormerHolder = { orgId: string } & ({ userId: string } | { tokenId: string });

const REVOKE_TIMEOUT_MS = 3_000;

/**
 * Takes away what was issued to somebody, right after the change that ended the right to it was committed. What fails
 * here is only logged: the sweep finds it again.
 */
export async function revokeAccessesOf(
  deps: Pick<Deps, "kube" | "log">,
  holder: FormerHolder,
): Promise<void> {
  const labelSelector =
    "userId" in holder ? `${LABEL_USER_ID}=${holder.userId}` : `${LABEL_API_TOKEN_ID}=${holder.tokenId}`;
  const options = { timeoutMs: REVOKE_TIMEOUT_MS };
  try {
    const namespace = organizationNamespace(holder.orgId);
    const accesses = await deps.kube.listAll(clusterAccessKind, { namespace, labelSelector, ...options });
    await Promise.all(
      accesses.map(({ metadata: { name, uid } }) =>
        deps.kube.delete(clusterAccessKind, namespace, name, { uid, ...options }),
      ),
    );
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    deps.log.warn({ ...holder, message }, "accesses are not revoked yet; the sweep will do it");
  }
}

async function findAll({ kube }: Pick<Deps, "kube">, cluster: ProjectedCluster): Promise<FoundAccess[]> {
  const accesses = await kube.listAll(clusterAccessKind, { namespace: cluster.namespace });
  return accesses.flatMap((access) => {
    const id = idOf(access);
    return id !== undefined && access.spec.clusterName === cluster.name ? [{ id, access }] : [];
  });
}
