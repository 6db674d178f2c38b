import type { Fault } from "../shared/controller/conditions.ts";
import type { MetadataChange } from "../shared/controller/plan.ts";
import { FINALIZER, LABEL_ID, LABEL_ORG_ID } from "../shared/crd/names.ts";
import type { Organization } from "../shared/crd/organization.ts";
import { findOldest, isOlder } from "../shared/kube/age.ts";
import type { KubeObject, ObjectMeta } from "../shared/kube/kind.ts";
import type { Store } from "../shared/kube/store.ts";
import { INDEX_ID } from "./indexes.ts";

export function indexById(object: KubeObject): string[] {
  const id = object.metadata.labels?.[LABEL_ID];
  return id === undefined ? [] : [id];
}

/** "namespace/name" of an older object with the same id. */
export function findOlderDuplicate(store: Store<KubeObject>, metadata: ObjectMeta): string | undefined {
  const id = metadata.labels?.[LABEL_ID];
  const sameId = id === undefined ? [] : store.byIndex(INDEX_ID, id);
  const older = findOldest(sameId.filter((other) => isOlder(other.metadata, metadata)))?.metadata;
  return older && `${older.namespace}/${older.name}`;
}

/** Why the identity of an object keeps it from being reconciled; undefined = nothing does. */
export function findIdentityFault(
  organization: Organization,
  olderDuplicate: string | undefined,
): Fault | undefined {
  if (organization.kind === "unknown") {
    const message = `This namespace belongs to no organization; put the object into the namespace of one, or have the label ${LABEL_ORG_ID} set.`;
    return { reason: "UnknownOrganization", message };
  }
  if (organization.kind === "duplicate") {
    const message = `The organization of this namespace uses the older namespace ${organization.namespace}; create the object there.`;
    return { reason: "DuplicateOrganization", message };
  }
  if (olderDuplicate === undefined) return undefined;
  const message = `An older object has the same label ${LABEL_ID}; delete this one and create it again without the label.`;
  return { reason: "DuplicateID", message };
}

/** What an object lacks of id, organization and finalizer; undefined = nothing. */
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

export function isDeleting({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}
