import type { Fault } from "../shared/controller/conditions.ts";
import type { MetadataChange } from "../shared/controller/plan.ts";
import { FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../shared/crd/names.ts";
import type { Namespace } from "../shared/kube/core-kinds.ts";
import type { KubeObject, ObjectMeta } from "../shared/kube/kind.ts";
import type { Store } from "../shared/kube/store.ts";
import { INDEX_ID, INDEX_ORGANIZATION } from "./indexes.ts";

/** Who an object belongs to, by the label of its namespace. */
export type Organization =
  | { kind: "known"; id: string }
  | { kind: "unknown" }
  /** An older namespace has the same label; `namespace` is that one. */
  | { kind: "duplicate"; namespace: string };

export function indexByOrganization(object: KubeObject): string[] {
  const id = object.metadata.labels?.[LABEL_ORG_ID];
  return id === undefined ? [] : [id];
}

export function indexById(object: KubeObject): string[] {
  const id = object.metadata.labels?.[LABEL_ID];
  return id === undefined ? [] : [id];
}

/** The organization of a namespace. Of two namespaces with one id the older counts. */
export function findOrganization(namespaces: Store<Namespace>, namespace: string | undefined): Organization {
  const own = namespace === undefined ? undefined : namespaces.get(namespace);
  const id = own?.metadata.labels?.[LABEL_ORG_ID];
  if (own === undefined || id === undefined) return { kind: "unknown" };
  const older = findOlder(namespaces.byIndex(INDEX_ORGANIZATION, id), own.metadata);
  return older === undefined ? { kind: "known", id } : { kind: "duplicate", namespace: older.name };
}

/** "namespace/name" of an older object that carries the same id. */
export function findOlderTwin(store: Store<KubeObject>, metadata: ObjectMeta): string | undefined {
  const id = metadata.labels?.[LABEL_ID];
  const older = id === undefined ? undefined : findOlder(store.byIndex(INDEX_ID, id), metadata);
  return older && `${older.namespace}/${older.name}`;
}

function findOlder(objects: KubeObject[], own: ObjectMeta): ObjectMeta | undefined {
  return objects
    .map((object) => object.metadata)
    .filter((other) => other.uid !== own.uid && age(other) < age(own))
    .sort((left, right) => (age(left) < age(right) ? -1 : 1))[0];
}

/** Sorts by birth; the uid decides between two of one second. */
function age(metadata: ObjectMeta): string {
  return `${metadata.creationTimestamp} ${metadata.uid}`;
}

/** Why an object cannot be served for the sake of whose it is; undefined = it can. */
export function findIdentityFault(
  namespace: string,
  organization: Organization,
  olderTwin: string | undefined,
): Fault | undefined {
  if (organization.kind === "unknown") {
    const message = `The namespace ${namespace} belongs to no organization; put the object into the namespace of one, or have the label ${LABEL_ORG_ID} set.`;
    return { reason: "UnknownOrganization", message };
  }
  if (organization.kind === "duplicate") {
    const message = `The organization of the namespace ${namespace} lives in the older namespace ${organization.namespace}; create the object there.`;
    return { reason: "DuplicateOrganization", message };
  }
  if (olderTwin === undefined) return undefined;
  const message = `The object ${olderTwin} is older and has the same label ${LABEL_ID}; delete this one and create it again without the label.`;
  return { reason: "DuplicateID", message };
}

/** What an object of ours still lacks of id, organization and finalizer; undefined = nothing. */
export function findMissingMetadata(
  metadata: ObjectMeta,
  organizationId: string,
  candidateId: string,
): MetadataChange | undefined {
  const labels = {
    ...(metadata.labels?.[LABEL_ID] === undefined && { [LABEL_ID]: candidateId }),
    ...(metadata.labels?.[LABEL_ORG_ID] === undefined && { [LABEL_ORG_ID]: organizationId }),
  };
  const change = {
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(!hasFinalizer(metadata) && { finalizer: FINALIZER }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

export function hasFinalizer(metadata: ObjectMeta): boolean {
  return metadata.finalizers?.includes(FINALIZER) ?? false;
}
