import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_PROVIDER_CREDENTIAL } from "../../shared/crd/names.ts";
import { findNamespaceOrganization, listConcernedNamespaces } from "../../shared/crd/organization.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import { type CacheSet, type Caches, enqueueTo, isNewSpec, type RunContext } from "../caches.ts";
import type { ServicePlan } from "../cluster/observe.ts";
import { writeCopies } from "../copies/copy.ts";
import { INDEX_NAMESPACE } from "../indexes.ts";
import { type ObservedCredentials, reconcileCredentials } from "./reconcile.ts";

export interface CredentialDeps {
  client: Pick<KubeClient, "get">;
  caches: Caches;
  settings: CredentialSettings;
}

/**
 * Reconciles the copies of the provider's credentials in one Namespace. Rejects at the end with an error that names each Secret that
 * was not written, or at once with the StepError of a Namespace that is being deleted.
 */
export async function runProviderCredentials(
  { client, caches, settings }: CredentialDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const observed = observeCredentials(caches, settings, key);
  if (observed === undefined) return undefined;
  const failures = await writeCopies(
    {
      client,
      kind: secretKind,
      label: LABEL_PROVIDER_CREDENTIAL,
      namespace: observed.namespace,
      sourceOf: () => settings.platformNamespace,
    },
    reconcileCredentials(observed),
    context,
  );
  if (failures.length > 0) {
    const messages = failures.map(({ message }) => message);
    throw new Error(`Secrets of the Namespace ${key} were not written: ${messages.join("; ")}`);
  }
  return undefined;
}

/** Adds the name of a Namespace for every change that its copies of credentials depend on. */
export function watchProviderCredentials(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const { caches } = cacheSet;
  const add = enqueueTo(controller);
  const addNamespace = (change: Change<KubeObject>) => add(change.object.metadata.namespace ?? "", change);
  cacheSet.listen("namespaces", (change) => {
    for (const namespace of listConcernedNamespaces(caches.namespaces, change)) add(namespace, change);
  });
  cacheSet.listen("clusters", (change) => {
    if (isNewSpec(change)) addNamespace(change);
  });
  cacheSet.listen("capiClusters", (change) => {
    if (change.type !== "updated") addNamespace(change);
  });
  cacheSet.listen("providerCopies", addNamespace);
  cacheSet.listen("providerCredentials", (change) => {
    for (const { metadata } of caches.namespaces.list()) add(metadata.name, change);
  });
}

type ServicePlans = Readonly<Record<string, ServicePlan>>;

export interface CredentialSettings {
  platformNamespace: string;
  servicePlans: ServicePlans;
}

/** The names of all Secrets that service plans name. */
export function listCredentialNames(servicePlans: ServicePlans): Set<string> {
  return new Set(Object.values(servicePlans).flatMap(({ credentials }) => credentials ?? []));
}

/** Gathers it from the caches; undefined for a Namespace that is deleted or of no organization, and for the platform's own. */
export function observeCredentials(
  caches: Caches,
  { servicePlans, platformNamespace }: CredentialSettings,
  key: string,
): ObservedCredentials | undefined {
  const namespace = caches.namespaces.get(key);
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined;
  if (key === platformNamespace) return undefined;
  if (findNamespaceOrganization(caches.namespaces, key).kind !== "known") return undefined;
  const clusters = caches.clusters.byIndex(INDEX_NAMESPACE, key);
  const capiClusters = caches.capiClusters.byIndex(INDEX_NAMESPACE, key);
  const findPlan = ({ spec: { plan = "default" } }: Cluster) =>
    Object.hasOwn(servicePlans, plan) ? servicePlans[plan] : undefined;
  const byName = (secrets: readonly Secret[]) =>
    new Map(secrets.map((secret) => [secret.metadata.name, secret]));
  return {
    namespace,
    named: listCredentialNames(servicePlans),
    wanted: new Set(clusters.flatMap((cluster) => findPlan(cluster)?.credentials ?? [])),
    hasCapiCluster: capiClusters.length > 0,
    // A Cluster outlives that of Cluster API by its finalizer.
    hasUnknownCapiCluster: capiClusters.some((capiCluster) => {
      const cluster = caches.clusters.get(objectKey(capiCluster));
      return cluster === undefined || findPlan(cluster) === undefined;
    }),
    sources: byName(caches.providerCredentials.list()),
    copies: byName(caches.providerCopies.byIndex(INDEX_NAMESPACE, key)),
  };
}
