import { type Cluster, clusterKind } from "../../../shared/crd/cluster.ts";
import {
  type ConfirmationResult,
  composeConfirmation,
  identityStateOf,
  idOf,
} from "../../../shared/crd/identity.ts";
import { ANNOTATION_IDENTITY, MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../../shared/crd/node-pool.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import { isOlder } from "../../../shared/kube/object.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { type Caches, findOrgId, isNodePool } from "./caches.ts";
import { findRecordedPlaces, isSamePlace, type Place } from "./records.ts";
import { findByUid } from "./stored-objects.ts";

/** What is known of an id that an object came with. */
export interface KnownOfId {
  /** Where the records have it, among objects of this kind. */
  recorded: Place | undefined;
  /** The records have it among objects of the other kind, or another object of now has it, too. */
  isOfOther: boolean;
  /** The records have this very object with it, as REST has created it. */
  isCreatedByRest: boolean;
}

/** Where an object came with an id, compared with where that id is known. */
export function decideConfirmation(came: Place, known: KnownOfId): ConfirmationResult {
  const { recorded, isOfOther, isCreatedByRest } = known;
  if (recorded === undefined) return isOfOther ? "refused" : "new";
  if (!isSamePlace(came, recorded)) return "refused";
  return isCreatedByRest ? "new" : "known";
}

/**
 * Whether an object came with an id that has no confirmation yet, as from a backup. It must not be projected before the
 * confirmation is decided: the projection makes the record that decides.
 */
export function needsConfirmation(object: Cluster | NodePool): boolean {
  return identityStateOf(object) === "unconfirmed";
}

/**
 * Writes on each of these objects what the records say of its id. An object that has changed meanwhile comes
 * again.
 */
export async function confirmIdentities(
  deps: Pick<Deps, "db" | "kube" | "log">,
  caches: Caches,
  objects: readonly (Cluster | NodePool)[],
): Promise<void> {
  const lookup = await createLookup(deps.db, caches, objects);
  for (const object of objects) {
    const { namespace = "", name: objectName } = object.metadata;
    const orgId = findOrgId(caches, namespace);
    const id = idOf(object);
    if (orgId === undefined || id === undefined) continue;
    const result = decideConfirmation({ orgId, namespace, objectName }, await lookup(object, id));
    await annotate(deps, object, result);
    if (result === "refused") deps.log.warn({ id, namespace, name: objectName }, "the id of another object");
  }
}

/** Whether another object that came with the same id has it first: it was confirmed before, or is the older of two that wait. */
function hasIdFirst(
  caches: Pick<Caches, "namespaces">,
  other: Cluster | NodePool,
  object: Cluster | NodePool,
): boolean {
  const isSame = other.metadata.uid === object.metadata.uid;
  if (isSame || findOrgId(caches, other.metadata.namespace) === undefined) return false;
  const state = identityStateOf(other);
  return state === "unconfirmed" ? isOlder(other.metadata, object.metadata) : state !== "refused";
}

async function createLookup(
  db: Queryable,
  caches: Caches,
  objects: readonly (Cluster | NodePool)[],
): Promise<(object: Cluster | NodePool, id: string) => Promise<KnownOfId>> {
  const ids = objects.flatMap((object) => idOf(object) ?? []);
  const ofClusters = await findRecordedPlaces(db, "cluster", ids);
  const ofPools = await findRecordedPlaces(db, "node_pool", ids);
  const isUnrecorded = ids.some((id) => !ofClusters.has(id) && !ofPools.has(id));
  const cached = isUnrecorded ? [...caches.clusters.list(), ...caches.nodePools.list()] : [];
  const uidsById = Map.groupBy(cached, idOf);
  return async (object, id) => {
    const { uid = "", annotations } = object.metadata;
    const [own, other] = isNodePool(object) ? [ofPools, ofClusters] : [ofClusters, ofPools];
    const isShared = uidsById.get(id)?.some((other) => hasIdFirst(caches, other, object)) === true;
    return {
      recorded: own.get(id),
      isOfOther: other.has(id) || isShared,
      isCreatedByRest: annotations?.[ANNOTATION_IDENTITY] === "new" && (await findByUid(db, uid))?.id === id,
    };
  };
}

async function annotate(
  { kube }: Pick<Deps, "kube">,
  object: Cluster | NodePool,
  result: ConfirmationResult,
) {
  const { namespace, name, resourceVersion } = object.metadata;
  const kind = (isNodePool(object) ? nodePoolKind : clusterKind) as unknown as Kind<KubeObject>;
  const annotations = { [ANNOTATION_IDENTITY]: composeConfirmation(result, object) };
  const patch = { metadata: { resourceVersion, annotations } };
  try {
    await kube.mergePatch(kind, namespace, name, patch, { fieldManager: MANAGER_APISERVER });
  } catch (error) {
    if (!(error instanceof KubeError && (error.isConflict || error.isNotFound))) throw error;
  }
}
