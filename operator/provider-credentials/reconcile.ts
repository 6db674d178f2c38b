import type { Secret } from "../../shared/kube/core-kinds.ts";
import { digestOf } from "./copy.ts";
import type { ObservedCredentials } from "./observe.ts";

/** What is to be done with the copies of one Namespace. */
export interface CopyChanges {
  /** Names of those that are missing. */
  create: string[];
  /** Those whose content is another than that of their source. */
  replace: Secret[];
  remove: Secret[];
}

/**
 * Each cluster's Namespace has the credentials that its plan names, equal to their sources. A copy goes with its source, and with
 * the last cluster that wants it: not before Cluster API has deleted what was made with it. One that no plan names any more stays as
 * it is for the clusters that were made with it. One of another type is made anew.
 */
export function reconcileCredentials(observed: ObservedCredentials): CopyChanges {
  const { named, wanted, hasEngine, hasUnknownEngine, sources, copies } = observed;
  const changes: CopyChanges = { create: [], replace: [], remove: [] };
  for (const name of wanted) if (sources.has(name) && !copies.has(name)) changes.create.push(name);
  for (const [name, copy] of copies) {
    const source = sources.get(name);
    const isKept = named.has(name)
      ? source !== undefined && (wanted.has(name) || hasUnknownEngine)
      : hasEngine;
    if (!isKept || (source !== undefined && source.type !== copy.type)) changes.remove.push(copy);
    else if (source !== undefined && digestOf(source) !== digestOf(copy)) changes.replace.push(copy);
  }
  return changes;
}
