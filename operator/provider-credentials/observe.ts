import type { Cluster } from "../../shared/crd/cluster.ts";
import { findNamespaceOrganization } from "../../shared/crd/organization.ts";
import type { Namespace, Secret } from "../../shared/kube/core-kinds.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import type { PlanMapping } from "../cluster/observe.ts";
import { INDEX_NAMESPACE } from "../indexes.ts";

type Plans = Readonly<Record<string, PlanMapping>>;

export interface CredentialSettings {
  platformNamespace: string;
  plans: Plans;
}

/** All that is known about the credentials in one Namespace of an organization: plain data, no client. */
export interface ObservedCredentials {
  namespace: Namespace;
  /** The names of those that plans name at all: of others it is not known whether their source is there. */
  named: ReadonlySet<string>;
  /** The names of those that the plans of its clusters want. */
  wanted: ReadonlySet<string>;
  /** Cluster API has clusters here, whose machines the provider cannot delete without credentials. */
  hasEngine: boolean;
  /** Of one of them it is not known what it wants: it has no Cluster, or one whose plan left the configuration. */
  hasUnknownEngine: boolean;
  /** In the platform's namespace, of those that plans name, by name. */
  sources: ReadonlyMap<string, Secret>;
  /** Here, by name. */
  copies: ReadonlyMap<string, Secret>;
}

/** The names of all Secrets that plans name. */
export function listCredentialNames(plans: Plans): Set<string> {
  return new Set(Object.values(plans).flatMap(({ credentials }) => credentials ?? []));
}

/** Gathers it from the caches; undefined for a Namespace that is deleted or of no organization, and for the platform's own. */
export function observeCredentials(
  caches: Caches,
  { plans, platformNamespace }: CredentialSettings,
  key: string,
): ObservedCredentials | undefined {
  const namespace = caches.namespaces.get(key);
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
  if (key === platformNamespace) return undefined;
  if (findNamespaceOrganization(caches.namespaces, key).kind !== "known") return undefined;
  const clusters = caches.clusters.byIndex(INDEX_NAMESPACE, key);
  const engines = caches.capiClusters.byIndex(INDEX_NAMESPACE, key);
  const findPlan = ({ spec: { plan = "default" } }: Cluster) =>
    Object.hasOwn(plans, plan) ? plans[plan] : undefined;
  const byName = (secrets: readonly Secret[]) =>
    new Map(secrets.map((secret) => [secret.metadata.name, secret]));
  return {
    namespace,
    named: listCredentialNames(plans),
    wanted: new Set(clusters.flatMap((cluster) => findPlan(cluster)?.credentials ?? [])),
    hasEngine: engines.length > 0,
    // A Cluster outlives its engine by its finalizer.
    hasUnknownEngine: engines.some((engine) => {
      const cluster = caches.clusters.get(objectKey(engine));
      return cluster === undefined || findPlan(cluster) === undefined;
    }),
    sources: byName(caches.providerCredentials.list()),
    copies: byName(caches.providerCopies.byIndex(INDEX_NAMESPACE, key)),
  };
}
