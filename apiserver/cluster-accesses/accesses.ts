import { type ClusterAccess, clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_ID } from "../../shared/crd/names.ts";
import type { Deps } from "../deps.ts";
import type { Caller } from "../http/contract/caller.ts";
import type { Preconditions } from "../http/contract/etag.ts";
import type { PageRequest } from "../http/contract/page.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { type Collection, deleteObject, type ObjectRef } from "../resources/write/index.ts";
import { parseId } from "./holder.ts";
import { accessIdOf } from "./present.ts";

/** An access and its public id. */
export interface FoundAccess extends ObjectRef {
  access: ClusterAccess;
}

/** The accesses to a cluster as the Kubernetes API has them now, in the order of their id; one more than `limit`. */
export async function listAccesses(
  deps: Pick<Deps, "kube">,
  cluster: ProjectedCluster,
  { cursor = "", limit }: PageRequest,
): Promise<FoundAccess[]> {
  const all = await findAccesses(deps, cluster);
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
  const [found] = await findAccesses(deps, cluster, { labelSelector: `${LABEL_ID}=${accessId}` });
  if (found === undefined) throw notFound("access");
  return found;
}

/** Revokes one access; the others stay unchanged. */
export async function revokeAccess(
  deps: Deps,
  caller: Caller,
  cluster: Pick<ProjectedCluster, "orgId" | "id">,
  found: FoundAccess,
  preconditions?: Preconditions,
): Promise<void> {
  await deleteObject(deps, caller, accessesOf(cluster), found, {
    preconditions,
    action: "cluster_access.revoke",
    decide({ access: { spec } }) {
      return { before: { cluster_id: cluster.id, subject: spec.subject, ttl_seconds: spec.ttlSeconds } };
    },
  });
}

/** Like revokeAccess; an access that is not there is revoked. */
export async function revokeIfThere(
  deps: Deps,
  caller: Caller,
  cluster: Pick<ProjectedCluster, "orgId" | "id">,
  found: FoundAccess,
): Promise<void> {
  try {
    await revokeAccess(deps, caller, cluster, found);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "not_found")) throw error;
  }
}

/** The accesses to one cluster. They are not projected. */
export function accessesOf({
  orgId,
  id,
}: Pick<ProjectedCluster, "orgId" | "id">): Collection<ClusterAccess, FoundAccess> {
  return {
    kindName: "ClusterAccess",
    kind: clusterAccessKind,
    noun: "access",
    targetKind: "cluster_access",
    orgId,
    parent: { noun: "cluster", id },
    takenNameCode: "already_exists",
    wireNames: {},
    project(access) {
      const found = toFound(access);
      if (found === undefined) throw new Error(`cluster access ${access.metadata.name} has lost its id`);
      return found;
    },
    save: async () => undefined,
  };
}

/** The accesses to a cluster. Without `selected` the whole Namespace is read. */
export async function findAccesses(
  { kube }: Pick<Deps, "kube">,
  cluster: ProjectedCluster,
  selected: { labelSelector?: string } = {},
): Promise<FoundAccess[]> {
  const accesses = await kube.listAll(clusterAccessKind, { namespace: cluster.namespace, ...selected });
  return accesses
    .filter(({ spec }) => spec.clusterName === cluster.name)
    .flatMap((access) => toFound(access) ?? []);
}

/** Undefined for an access that was applied by kubectl until the operator has given it an id, and for one with a malformed id. */
export function toFound(access: ClusterAccess): FoundAccess | undefined {
  const { namespace = "", name, uid = "" } = access.metadata;
  const id = parseId(accessIdOf(access));
  return id === undefined ? undefined : { id, namespace, name, uid, access };
}
