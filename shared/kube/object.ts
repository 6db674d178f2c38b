import { apiVersionOf, type Kind, type KubeObject, type ObjectMeta } from "./kind.ts";

/** "namespace/name", or "name" for a cluster-scoped object. */
export function objectKey(object: { metadata: { namespace?: string; name: string } }): string {
  return toKey(object.metadata.namespace, object.metadata.name);
}

/** By `join`, for V8 keeps what a template literal or `+` makes as a tree of its parts: 32 bytes more in each key. */
export function toKey(namespace: string | undefined, name: string): string {
  return namespace ? [namespace, name].join("/") : name;
}

/** The inverse of `toKey` for the key of an object: its namespace and name contain no slash. */
export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const at = key.indexOf("/");
  return at === -1
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, at), name: key.slice(at + 1) };
}

/** Sets apiVersion and kind, which items of built-in lists and PartialObjectMetadata lack. */
export function readAs<T>(kind: Kind<T>, received: T): T {
  const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  if (kind.metadataOnly === true) return { ...type, metadata: metadataOf(received) } as T;
  return { ...type, ...received };
}

/** The Accept header of a read; a server that does not support metadata-only reads sends whole objects. */
export function acceptOf(kind: Kind<unknown>, shape: "object" | "list"): string | undefined {
  if (kind.metadataOnly !== true) return undefined;
  const schema = shape === "list" ? "PartialObjectMetadataList" : "PartialObjectMetadata";
  return `application/json;as=${schema};g=meta.k8s.io;v=v1,application/json`;
}

/** Metadata of any API object. Throws a TypeError for a value that has none. */
export function metadataOf(object: unknown): ObjectMeta {
  const metadata = (object as { metadata?: ObjectMeta } | null)?.metadata;
  if (metadata === undefined) throw new TypeError("an API object needs metadata");
  return metadata;
}

/** Without a namespace: the collection over all namespaces, which is read-only (`single` throws a TypeError). */
export function collectionPath(kind: Kind<unknown>, namespace: string | undefined, single = false): string {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  if (!kind.namespaced) return `${root}/${kind.plural}`;
  if (namespace === undefined || namespace === "") {
    if (single) throw new TypeError(`a ${kind.kind} needs a namespace`);
    return `${root}/${kind.plural}`;
  }
  return `${root}/namespaces/${encodeURIComponent(namespace)}/${kind.plural}`;
}

export function objectPath(
  kind: Kind<unknown>,
  namespace: string | undefined,
  name: string,
  subresource?: string,
): string {
  if (!name) throw new TypeError(`a ${kind.kind} needs a name`);
  const path = `${collectionPath(kind, namespace, true)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Orders objects by creation time, the oldest first; the uid decides between two of one second. */
export function compareAge(left: ObjectMeta, right: ObjectMeta): number {
  return ageKey(left) < ageKey(right) ? -1 : 1;
}

/** Whether `left` is another object than `right`, and older. */
export function isOlder(left: ObjectMeta, right: ObjectMeta): boolean {
  return left.uid !== right.uid && ageKey(left) < ageKey(right);
}

/** The oldest of these objects; undefined for none. */
export function findOldest<T extends KubeObject>(objects: readonly T[]): T | undefined {
  return objects.toSorted((left, right) => compareAge(left.metadata, right.metadata))[0];
}

function ageKey({ creationTimestamp, uid }: ObjectMeta): string {
  return `${creationTimestamp} ${uid}`;
}
