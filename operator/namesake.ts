import type { Fault } from "../shared/controller/conditions.ts";
import type { Cluster } from "../shared/crd/cluster.ts";
import type { NodePool } from "../shared/crd/node-pool.ts";
import { toKey } from "../shared/kube/object.ts";
import type { Store } from "../shared/kube/store.ts";
import { INDEX_NAME } from "./indexes.ts";

type Named = Cluster | NodePool;

/** Where a name has to be unique, letter case aside: a cluster's in its organization, a pool's in its cluster. */
export function indexByName({ metadata, spec }: Named): string[] {
  const name = (spec.displayName ?? metadata.name).toLowerCase();
  const scope = "clusterName" in spec ? toKey(metadata.namespace, spec.clusterName) : metadata.namespace;
  return [[scope, name].join(" ")];
}

/**
 * Why an object that the engine does not know yet gets nothing made: an older one has its name. What runs already goes
 * on under whatever name. Undefined = the name is its own.
 */
export function findNamesake<T extends Named>(store: Store<T>, object: T): Fault | undefined {
  const [key = ""] = indexByName(object);
  const others = store
    .byIndex(INDEX_NAME, key)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const older = others.find(
    (other) => other.metadata.uid !== object.metadata.uid && age(other) < age(object),
  );
  if (older === undefined) return undefined;
  const name = object.spec.displayName ?? object.metadata.name;
  const message = `The name ${name} is taken by the older object ${older.metadata.namespace}/${older.metadata.name}; set another spec.displayName, or delete one of the two.`;
  return { reason: "DuplicateName", message };
}

function age({ metadata }: Named): string {
  return `${metadata.creationTimestamp} ${metadata.uid}`;
}
