import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import { type ConfirmationResult, identityOf, idOf } from "../../../shared/crd/identity.ts";
import { ANNOTATION_IDENTITY, MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import type { Deps } from "../../deps.ts";
import { type Caches, findOrgId } from "./caches.ts";
import { findRecordedPlaces, isSamePlace, type RecordedPlace } from "./records.ts";

/** Where an object came with an id, compared with where the records have that id. */
export function decideConfirmation(
  came: RecordedPlace,
  recorded: RecordedPlace | undefined,
): ConfirmationResult {
  if (recorded === undefined) return "new";
  return isSamePlace(came, recorded) ? "known" : "refused";
}

/**
 * Whether an object came with an id that has no confirmation yet, as from a backup. It must not be projected before the
 * confirmation is decided: the projection makes the record that decides.
 */
export function needsConfirmation(object: Cluster | NodePool): boolean {
  return identityOf(object) === "unconfirmed";
}

/**
 * Writes on each of these objects what the records say of its id. An object that has changed meanwhile comes
 * again.
 */
export async function confirmIdentities(
  deps: Pick<Deps, "db" | "kube" | "log">,
  caches: Pick<Caches, "namespaces">,
  objects: readonly (Cluster | NodePool)[],
): Promise<void> {
  const recorded = await findRecordedPlaces(
    deps.db,
    ["cluster", "node_pool"],
    objects.flatMap((object) => idOf(object) ?? []),
  );
  for (const object of objects) {
    const { namespace = "", name: objectName } = object.metadata;
    const orgId = findOrgId(caches, namespace);
    const id = idOf(object);
    if (orgId === undefined || id === undefined) continue;
    const result = decideConfirmation({ orgId, namespace, objectName }, recorded.get(id));
    await annotate(deps, object, result);
    if (result === "refused") deps.log.warn({ id, namespace, name: objectName }, "the id of another object");
  }
}

async function annotate(
  { kube }: Pick<Deps, "kube">,
  object: Cluster | NodePool,
  result: ConfirmationResult,
) {
  const { namespace, name, resourceVersion } = object.metadata;
  const kind = ("clusterName" in object.spec ? nodePoolKind : clusterKind) as unknown as Kind<KubeObject>;
  const patch = { metadata: { resourceVersion, annotations: { [ANNOTATION_IDENTITY]: result } } };
  try {
    await kube.mergePatch(kind, namespace, name, patch, { fieldManager: MANAGER_APISERVER });
  } catch (error) {
    if (!(error instanceof KubeError && (error.isConflict || error.isNotFound))) throw error;
  }
}
