import { planApply } from "../../shared/controller/applied.ts";
import type { Step } from "../../shared/controller/plan.ts";
import { LABEL_ADD_ON } from "../../shared/crd/names.ts";
import type { ConfigMap, Secret } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { type ClusterResourceSet, clusterResourceSetKind } from "../capi/add-ons.ts";
import { type Copied, type CopyChanges, digestOf, isCopy, typeOf } from "../copies/copy.ts";
import { composeSetCopy, type ObservedAddOns, type ObservedManifests } from "./observe.ts";

/** What is to be done in one Namespace. */
export interface AddOnChanges {
  write: Step[];
  remove: Step[];
  configMaps: CopyChanges<ConfigMap>;
  secrets: CopyChanges<Secret>;
  /** The names of sets that are there and no copies. */
  foreign: string[];
  /** A sentence for each set that another Namespace of classes is in the way of. */
  taken: string[];
}

/**
 * Sets select clusters of their own Namespace, so each organization's has a copy of every set that the classes of its
 * clusters name, with its manifests. It goes with the last such cluster; what was applied stays in the clusters. A set
 * whose selector or strategy is another one is made anew, for neither can be changed.
 */
export function reconcileAddOns(observed: ObservedAddOns): AddOnChanges {
  const { wanted, hasUnknownClass, sets } = observed;
  const namespace = observed.namespace.metadata.name;
  const changes: AddOnChanges = {
    write: [],
    remove: [],
    configMaps: reconcileManifests(observed.configMaps, hasUnknownClass),
    secrets: reconcileManifests(observed.secrets, hasUnknownClass),
    foreign: [],
    taken: [...observed.taken].map(
      ([key, parts]) => `${key}: another Namespace of classes has the ${parts.join(", ")}, too; rename one`,
    ),
  };
  for (const [name, source] of wanted) {
    const live = sets.get(name);
    if (live !== undefined && !isCopy(live, LABEL_ADD_ON)) changes.foreign.push(name);
    else if (live === undefined || canBecome(live, source))
      changes.write.push(...planApply(clusterResourceSetKind, composeSetCopy(source, namespace), live));
    else changes.remove.push(composeDeletion(live));
  }
  for (const [name, live] of sets)
    if (isCopy(live, LABEL_ADD_ON) && !wanted.has(name) && !hasUnknownClass)
      changes.remove.push(composeDeletion(live));
  return changes;
}

function reconcileManifests<T extends Copied>(
  { sources, copies }: ObservedManifests<T>,
  keepsOthers: boolean,
): CopyChanges<T> {
  const changes: CopyChanges<T> = { create: [], replace: [], remove: [] };
  for (const name of sources.keys()) if (!copies.has(name)) changes.create.push(name);
  for (const [name, copy] of copies) {
    const source = sources.get(name);
    const isOther = source !== undefined && typeOf(source) !== typeOf(copy);
    if (isOther || (source === undefined && !keepsOthers)) changes.remove.push(copy);
    else if (source !== undefined && digestOf(source) !== digestOf(copy)) changes.replace.push(copy);
  }
  return changes;
}

function canBecome(live: ClusterResourceSet, source: ClusterResourceSet): boolean {
  const { spec: from } = live;
  const { spec: to } = source;
  return (
    JSON.stringify(from?.clusterSelector) === JSON.stringify(to?.clusterSelector) &&
    from?.strategy === to?.strategy
  );
}

function composeDeletion({ metadata }: ClusterResourceSet): Step {
  const { namespace = "", name, uid } = metadata;
  return { verb: "delete", kind: clusterResourceSetKind as Kind<KubeObject>, namespace, name, uid };
}
