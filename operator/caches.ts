import type { z } from "zod";
import type { Controller, WatchedCache } from "../shared/controller/controller.ts";
import type { PlanContext } from "../shared/controller/plan.ts";
import { PRIORITY_BACKGROUND } from "../shared/controller/queue.ts";
import type { Cluster } from "../shared/crd/cluster.ts";
import type { ClusterAccess } from "../shared/crd/cluster-access.ts";
import type { VersionCatalogue } from "../shared/crd/kubernetes-version.ts";
import { ANNOTATION_REPLACE_PREFIX, OBJECT_ANNOTATIONS } from "../shared/crd/names.ts";
import type { NodePool } from "../shared/crd/node-pool.ts";
import { listConcernedNamespaces } from "../shared/crd/organization.ts";
import type { Packages } from "../shared/crd/published-config.ts";
import type { QuotaAmounts, Shortfall } from "../shared/crd/quota.ts";
import type { StorageInventory } from "../shared/crd/storage-inventory.ts";
import type {
  ConfigMap,
  Deployment,
  Event,
  Namespace,
  RbacRole,
  RoleBinding,
  Secret,
  ServiceAccount,
} from "../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../shared/kube/kind.ts";
import { objectKey } from "../shared/kube/object.ts";
import type { Change } from "../shared/kube/reflector.ts";
import type { Store } from "../shared/kube/store.ts";
import type { Logger } from "../shared/program/log.ts";
import type { ClusterResourceSet, ClusterResourceSetBinding } from "./capi/add-ons.ts";
import type { ClassLookup } from "./capi/cluster-class.ts";
import type { CapiCluster, ClusterClass, Machine, MachineDeployment, MachineSet } from "./capi/kinds.ts";
import type { TemplateSizes } from "./capi/pool-state.ts";
import type { AccessSecret } from "./capi/secrets.ts";
import { INDEX_NAMESPACE } from "./indexes.ts";

/** What every controller applies its plans with; the kind is the controller's own. */
export type RunContext = Omit<PlanContext<never>, "kind">;

/** The cached kinds, by the name of their cache. */
export interface Cached {
  clusters: Cluster;
  nodePools: NodePool;
  accesses: ClusterAccess;
  inventories: StorageInventory;
  namespaces: Namespace;
  capiClusters: CapiCluster;
  machineDeployments: MachineDeployment;
  machineSets: MachineSet;
  machines: Machine;
  clusterClasses: ClusterClass;
  /** Cluster API's Secrets with the CAs and kubeconfigs of clusters: their metadata only. */
  clusterSecrets: AccessSecret;
  /** The admin kubeconfigs, registrations and tokens that the operator issued: of their content the CA's certificate only. */
  issuedCredentials: Secret;
  /** The Secrets of the platform's namespace that service plans name, and their copies: a digest instead of the content. */
  providerCredentials: Secret;
  providerCopies: Secret;
  /** Cluster API's: the add-ons of classes, their copies, and what was applied to each cluster. */
  resourceSets: ClusterResourceSet;
  resourceSetBindings: ClusterResourceSetBinding;
  /** The manifests of add-ons and their copies: a digest instead of the content. */
  addOnConfigMaps: ConfigMap;
  addOnSecrets: Secret;
  roles: RbacRole;
  roleBindings: RoleBinding;
  /** The autoscalers of clusters: objects with our cluster label. */
  serviceAccounts: ServiceAccount;
  deployments: Deployment;
  catalogues: ConfigMap;
  packages: ConfigMap;
  /** What the operator itself publishes of the cluster classes. */
  capabilities: ConfigMap;
  subnetAllocations: ConfigMap;
  events: Event;
}

export type Stores = { readonly [Name in keyof Cached]: Store<Cached[Name]> };

/** What the operator reads instead of the Kubernetes API. */
export type Caches = Stores & {
  /** The versions on offer; the last valid ones while the ConfigMap is invalid. */
  readCatalogue(): VersionCatalogue;
  /** The packages that clusters are billed as; the last valid ones while the ConfigMap is invalid. */
  readPackages(): Packages;
  /** What the installed cluster classes can do. */
  readClasses(): ClassLookup;
  /** What everything in a namespace would use of the quotas if every request were granted. */
  maximumUsage(namespace: string): QuotaAmounts;
  /** What in a namespace exceeds these limits, by the key of the request. */
  overQuota(namespace: string, limits: QuotaAmounts): ReadonlyMap<string, Shortfall[]>;
  /** The size of the machines that this MachineSet makes; undefined = not known. */
  sizeOfTemplate: TemplateSizes["find"];
};

export type Listener<T> = (change: Change<T>) => void;

export interface CacheSet {
  caches: Caches;
  /** Calls the listener on every change of this cache; to be called before `start`. It may only add keys. */
  listen<Name extends keyof Cached>(name: Name, listener: Listener<Cached[Name]>): void;
  start(signal: AbortSignal): void;
  /** The cache that will show a write of this kind; undefined = there is none. */
  cacheOfWrites(kind: Kind<unknown>): WatchedCache | undefined;
  /** Resolves once every cache holds its first list. */
  synced: Promise<unknown>;
  healthy(): boolean;
}

/** After this time a cache that lags behind is looked at again, and the Kubernetes API asked again. */
export const CACHE_LAG_MS = 2_000;

export type Enqueue = (key: string, change: Change<KubeObject>) => void;

/** Adds keys to a controller; those of an initial list with low priority. */
export function enqueueTo(controller: Pick<Controller, "add">): Enqueue {
  return (key, change) => controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : {});
}

/** Adds each object of a store when a change of a Namespace may decide whose it is. */
export function enqueueByNamespace<T extends KubeObject>(
  cacheSet: Pick<CacheSet, "caches" | "listen">,
  store: Pick<Store<T>, "byIndex">,
  add: Enqueue,
): void {
  cacheSet.listen("namespaces", (change) => {
    for (const namespace of listConcernedNamespaces(cacheSet.caches.namespaces, change))
      for (const object of store.byIndex(INDEX_NAMESPACE, namespace)) add(objectKey(object), change);
  });
}

/** A step of Cluster API changes several of its objects, each one several times, within a few 100 ms. */
const BATCH_MS = 250;

/**
 * As `enqueueTo`, for objects that Cluster API makes: the changes within 250 ms after the first one lead to one reconcile.
 * Whatever else adds the key meanwhile, as a change of its specification does, runs it at once.
 */
export function enqueueBatchedTo(controller: Pick<Controller, "add">): Enqueue {
  return (key, change) =>
    controller.add(key, change.initial ? { priority: PRIORITY_BACKGROUND } : { afterMs: BATCH_MS });
}

/** Whether an object came, went, or has another specification than before. */
export function isNewSpec({ type, previous, object }: Change<KubeObject>): boolean {
  return type !== "updated" || previous?.metadata.generation !== object.metadata.generation;
}

/** What a ConfigMap has under a key, as JSON; undefined = nothing. Throws when that is invalid. */
export function parseEntry<T>(
  { data }: Pick<ConfigMap, "data">,
  { key, schema }: { key: string; schema: z.ZodType<T> },
): T | undefined {
  const text = data?.[key];
  return text === undefined ? undefined : schema.parse(JSON.parse(text));
}

/**
 * Parses a key of the one ConfigMap in `store`, once for each version of it. Content that is invalid is logged, and the last
 * valid one stays.
 */
export function createConfigReader<T>(
  store: Store<ConfigMap>,
  { key, schema, initial, log }: { key: string; schema: z.ZodType<T>; initial: T; log: Logger },
): () => T {
  let parsed: ConfigMap | undefined;
  let value = initial;
  return () => {
    const [configMap] = store.list();
    if (configMap === undefined || configMap === parsed) return value;
    parsed = configMap;
    try {
      value = parseEntry(configMap, { key, schema }) ?? value;
    } catch (error) {
      log.error({ err: error, key }, "a ConfigMap is invalid, its last valid content is used");
    }
    return value;
  };
}

/**
 * An object of Marina's kinds with no other annotations than Marina's, which alone are read: a pipeline may set 256 KiB of others
 * on each object. `annotations` is there where the object has any. Never write it back whole.
 */
export function keepOwnAnnotations<T extends KubeObject>(object: T): T {
  const { annotations } = object.metadata;
  if (annotations === undefined) return object;
  const kept = Object.fromEntries(Object.entries(annotations).filter(([name]) => isOwn(name)));
  return { ...object, metadata: { ...object.metadata, annotations: kept } };
}

function isOwn(name: string): boolean {
  return OBJECT_ANNOTATIONS.includes(name) || name.startsWith(ANNOTATION_REPLACE_PREFIX);
}
