import type { Namespace, Secret } from "../../shared/kube/core-kinds.ts";
import { type CopyChanges, digestOf } from "../copies/copy.ts";

/** All that is known about the credentials in one Namespace of an organization: plain data, no client. */
export interface ObservedCredentials {
  namespace: Namespace;
  /** The names of those that plans name at all: of others it is not known whether their source is there. */
  named: ReadonlySet<string>;
  /** The names of those that the plans of its clusters want. */
  wanted: ReadonlySet<string>;
  /** Cluster API has clusters here, whose machines the provider cannot delete without credentials. */
  hasCapiCluster: boolean;
  /** It is not known which credentials one of them wants: it has no Cluster, or one whose plan left the configuration. */
  hasUnknownCapiCluster: boolean;
  /** In the platform's namespace, of those that plans name, by name. */
  sources: ReadonlyMap<string, Secret>;
  /** Here, by name. */
  copies: ReadonlyMap<string, Secret>;
}

/**
 * Each cluster's Namespace has the credentials that its plan names, equal to their sources. A copy goes with its source, and with
 * the last cluster that wants it: not before Cluster API has deleted what was made with it. One that no plan names any more stays as
 * it is for the clusters that were made with it. One of another type is made anew.
 */
export function reconcileCredentials(observed: ObservedCredentials): CopyChanges<Secret> {
  const { named, wanted, hasCapiCluster, hasUnknownCapiCluster, sources, copies } = observed;
  const changes: CopyChanges<Secret> = { create: [], replace: [], remove: [] };
  for (const name of wanted) if (sources.has(name) && !copies.has(name)) changes.create.push(name);
  for (const [name, copy] of copies) {
    const source = sources.get(name);
    const isKept = named.has(name)
      ? source !== undefined && (wanted.has(name) || hasUnknownCapiCluster)
      : hasCapiCluster;
    if (!isKept || (source !== undefined && source.type !== copy.type)) changes.remove.push(copy);
    else if (source !== undefined && digestOf(source) !== digestOf(copy)) changes.replace.push(copy);
  }
  return changes;
}
