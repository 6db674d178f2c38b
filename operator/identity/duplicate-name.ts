import type { Problem } from "../../shared/controller/conditions.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { isOlder } from "../../shared/kube/age.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { Store } from "../../shared/kube/store.ts";
import { INDEX_NAME } from "../indexes.ts";
import { isDeleting } from "./identity.ts";

type Named = Cluster | NodePool;

/** Names are unique, ignoring case: a cluster's in its organization, a node pool's in its cluster. */
export function indexByName({ metadata, spec }: Named): string[] {
  const name = (spec.displayName ?? metadata.name).toLowerCase();
  const scope = "clusterName" in spec ? toKey(metadata.namespace, spec.clusterName) : metadata.namespace;
  return [`${scope} ${name}`];
}

/** Why an object that Cluster API does not know yet is not created: an older one has its name. Undefined = none has. */
export function findDuplicateName<T extends Named>(store: Store<T>, object: T): Problem | undefined {
  const [key = ""] = indexByName(object);
  const older = store
    .byIndex(INDEX_NAME, key)
    .find((other) => !isDeleting(other) && isOlder(other.metadata, object.metadata));
  if (older === undefined) return undefined;
  const name = object.spec.displayName ?? object.metadata.name;
  const message = `The name ${name} is taken by the older object ${older.metadata.name}; set another spec.displayName, or delete one of the two.`;
  return { reason: "DuplicateName", message };
}
