/** One API kind as the client needs it; `_type` only carries the TypeScript type of its objects and is never set. */
export interface Kind<T> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Reads ask the server for the metadata alone. */
  readonly metadataOnly?: true;
  readonly _type?: T;
}

/** Names a kind together with the type of its objects: `defineKind<Cluster>({...})`. The core group is `""`. */
export function defineKind<T extends KubeObject>(kind: Omit<Kind<T>, "_type">): Kind<T> {
  return kind;
}

/** The same kind, of whose objects no more is read than the metadata: their content does not leave the API server. */
export function metadataOnly(kind: Kind<unknown>): Kind<KubeObject> {
  const { _type, ...named } = kind;
  return { ...named, metadataOnly: true };
}

/** `group/version`, or `version` alone in the core group: what stands in an object's `apiVersion`. */
export function apiVersionOf(kind: Kind<unknown>): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

/** Object metadata as it stands on the wire: timestamps are RFC 3339 strings. The server fills what is optional here. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}
