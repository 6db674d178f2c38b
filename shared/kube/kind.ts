/** An API kind. `_type` only carries the TypeScript type of its objects and is never set. */
export interface Kind<T> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Reads request PartialObjectMetadata. */
  readonly metadataOnly?: true;
  readonly _type?: T;
}

/** Declares a kind with the type of its objects: `defineKind<Cluster>({...})`. The core group is `""`. */
export function defineKind<T extends KubeObject>(kind: Omit<Kind<T>, "_type">): Kind<T> {
  return kind;
}

/** A copy of a kind that is read as metadata only: the content of its objects does not leave the API server. */
export function metadataOnly(kind: Kind<unknown>): Kind<KubeObject> {
  const { _type, ...named } = kind;
  return { ...named, metadataOnly: true };
}

/** An object's `apiVersion`: `group/version`, or `version` in the core group. */
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

/** Whether fields in the form of `fieldsV1` have one with this path, as in `["f:spec", "f:plan"]`. */
export function holdsField(fields: unknown, [first, ...rest]: readonly string[]): boolean {
  if (typeof fields !== "object" || fields === null) return false;
  if (first === undefined) return true;
  return holdsField((fields as Readonly<Record<string, unknown>>)[first], rest);
}

/** Object metadata in JSON: timestamps are RFC 3339 strings. The server sets the optional fields. */
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
