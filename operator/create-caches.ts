import type { WatchedCache } from "../shared/controller/controller.ts";
import { type Cluster, clusterKind } from "../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind } from "../shared/crd/cluster-access.ts";
import { type VersionCatalogue, versionCatalogueSchema } from "../shared/crd/kubernetes-version.ts";
import {
  CAPABILITIES_CONFIG_MAP,
  LABEL_ADD_ON,
  LABEL_CLUSTER_ID,
  LABEL_CREDENTIAL,
  LABEL_PROVIDER_CREDENTIAL,
  PACKAGES_CONFIG_MAP,
  PACKAGES_KEY,
  VERSION_CATALOGUE_CONFIG_MAP,
  VERSION_CATALOGUE_KEY,
} from "../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../shared/crd/node-pool.ts";
import { indexByOrganization } from "../shared/crd/organization.ts";
import { type Packages, packagesSchema } from "../shared/crd/published-config.ts";
import { type StorageInventory, storageInventoryKind } from "../shared/crd/storage-inventory.ts";
import type { KubeClient } from "../shared/kube/client.ts";
import {
  type ConfigMap,
  configMapKind,
  deploymentKind,
  eventKind,
  namespaceKind,
  roleBindingKind,
  roleKind,
  type Secret,
  secretKind,
  serviceAccountKind,
} from "../shared/kube/core-kinds.ts";
import { type Kind, type KubeObject, metadataOnly } from "../shared/kube/kind.ts";
import { objectKey } from "../shared/kube/object.ts";
import {
  type Change,
  createReflector,
  type Reflector,
  type ReflectorMetrics,
} from "../shared/kube/reflector.ts";
import { createStore, type Indexer, type Store } from "../shared/kube/store.ts";
import type { Logger } from "../shared/program/log.ts";
import { trimCredential } from "./admin-kubeconfig/kubeconfig.ts";
import {
  type Cached,
  type CacheSet,
  createConfigReader,
  keepOwnAnnotations,
  type Listener,
  type Stores,
} from "./caches.ts";
import { clusterResourceSetBindingKind, clusterResourceSetKind, hashManifests } from "./capi/add-ons.ts";
import { createClassReader } from "./capi/cluster-class.ts";
import { EVENT_SELECTOR } from "./capi/events.ts";
import {
  capiClusterKind,
  clusterClassKind,
  indexByInfrastructure,
  LABEL_CAPI_CLUSTER,
  machineDeploymentKind,
  machineKind,
  machineSetKind,
} from "./capi/kinds.ts";
import { trimNodePool } from "./capi/pool-replicas.ts";
import { createTemplateSizes } from "./capi/pool-state.ts";
import { type AccessSecret, trimAccessSecret } from "./capi/secrets.ts";
import { trimCapiCluster, trimMachine, trimMachineDeployment, trimMachineSet } from "./capi/trim.ts";
import { trimToDigest } from "./copies/copy.ts";
import { trimEvent } from "./events/mirror.ts";
import { indexById, indexByName } from "./identity/identity.ts";
import {
  INDEX_BLOCKED,
  INDEX_CLUSTER,
  INDEX_CLUSTER_AND_POOL,
  INDEX_ID,
  INDEX_INFRASTRUCTURE,
  INDEX_NAME,
  INDEX_NAMESPACE,
  INDEX_ORGANIZATION,
  INDEX_REGISTRATION,
  INDEX_SUBNET_OWNER,
  indexByCluster,
  indexByNamespace,
  indexByPool,
  indexBySubnetOwner,
} from "./indexes.ts";
import { indexBlocked } from "./quota/observe.ts";
import { createQuotaUsage } from "./quota/usage.ts";
import { indexByRegistration } from "./registration/secret.ts";
import { ALLOCATION_SELECTOR } from "./subnets/allocation.ts";

/** An object with manifests has up to 1 MiB. */
const MANIFESTS_PER_PAGE = 20;

export interface CacheOptions {
  client: Pick<KubeClient, "list" | "watch">;
  platformNamespace: string;
  /** Caches that stay empty: the operator has no right to what they hold, and needs none of it. */
  unused?: ReadonlySet<keyof Cached>;
  /** The Secrets of the platform's namespace that service plans name; default: none. */
  credentialNames?: ReadonlySet<string>;
  log: Logger;
  metrics: ReflectorMetrics;
}

/** Creates every cache of the operator. Nothing is read before `start`. */
export function createCaches(options: CacheOptions): CacheSet {
  const { client, log, metrics } = options;
  const reflectors: Reflector[] = [];
  const listeners = new Map<string, Listener<never>[]>();

  function declare<T extends KubeObject>(
    name: keyof Cached,
    kind: Kind<T>,
    indexers: Record<string, Indexer<T>> = {},
    selection: Selection<T> = {},
  ): Store<T> {
    const store = createStore<T>(indexers);
    const onChange = (change: Change<T>) => {
      for (const listener of (listeners.get(name) ?? []) as Listener<T>[]) listener(change);
    };
    if (options.unused?.has(name) !== true)
      reflectors.push(createReflector<T>({ client, kind, store, ...selection, onChange, log, metrics }));
    return store;
  }

  const stores = declareStores(declare, options);
  const written = listWritten(stores);
  const listen: CacheSet["listen"] = (name, listener) => {
    listeners.set(name, [...(listeners.get(name) ?? []), listener as Listener<never>]);
  };
  const usage = createQuotaUsage(stores);
  const templateSizes = createTemplateSizes();
  listen("machineDeployments", (change) => templateSizes.observe(change));
  listen("clusters", ({ object }) => usage.update(objectKey(object)));
  listen("capiClusters", ({ object }) => usage.update(objectKey(object)));
  listen("nodePools", ({ object }) => usage.update(indexByCluster(object)[0] ?? ""));
  return {
    caches: {
      ...stores,
      readCatalogue: createConfigReader<VersionCatalogue>(stores.catalogues, {
        key: VERSION_CATALOGUE_KEY,
        schema: versionCatalogueSchema,
        initial: [],
        log,
      }),
      readPackages: createConfigReader<Packages>(stores.packages, {
        key: PACKAGES_KEY,
        schema: packagesSchema,
        initial: {},
        log,
      }),
      readClasses: createClassReader(stores.clusterClasses),
      maximumUsage: (namespace) => usage.maximumUsage(namespace),
      overQuota: (namespace, limits) => usage.overQuota(namespace, limits),
      sizeOfTemplate: (machineSet) => templateSizes.find(machineSet),
    },
    cacheOfWrites: (kind) => written.get(kind),
    listen,
    start(signal) {
      for (const reflector of reflectors) reflector.start(signal);
    },
    synced: Promise.all(reflectors.map((reflector) => reflector.synced)),
    healthy: () => reflectors.every((reflector) => reflector.healthy()),
  };
}

interface Selection<T> {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  keepManagedFields?: boolean;
  pageSize?: number;
  transform?: (object: T) => T | undefined;
}

type Declare = <T extends KubeObject>(
  name: keyof Cached,
  kind: Kind<T>,
  indexers?: Record<string, Indexer<T>>,
  selection?: Selection<T>,
) => Store<T>;

/** What is cached, by which indexes, and which part of it. */
function declareStores(
  declare: Declare,
  {
    platformNamespace,
    credentialNames = new Set(),
  }: Pick<CacheOptions, "platformNamespace" | "credentialNames">,
): Stores {
  const ours = { labelSelector: LABEL_CLUSTER_ID };
  const byPool = { [INDEX_CLUSTER_AND_POOL]: indexByPool };
  const byMachine = { ...byPool, [INDEX_INFRASTRUCTURE]: indexByInfrastructure };
  const byRegistration = { [INDEX_REGISTRATION]: indexByRegistration };
  const byNamespace = { [INDEX_NAMESPACE]: indexByNamespace };
  const byIdentity = { [INDEX_ID]: indexById, ...byNamespace };
  const byRules = { [INDEX_BLOCKED]: indexBlocked, [INDEX_NAME]: indexByName };
  const byCluster = { [INDEX_CLUSTER]: indexByCluster };
  const ofPools: Selection<NodePool> = {
    keepManagedFields: true,
    transform: (pool) => keepOwnAnnotations(trimNodePool(pool)),
  };
  const own = { transform: keepOwnAnnotations };
  const bySubnetOwner = { [INDEX_SUBNET_OWNER]: indexBySubnetOwner };
  const clusterSecrets = {
    labelSelector: LABEL_CAPI_CLUSTER,
    keepManagedFields: true,
    transform: trimAccessSecret,
  };
  const ofIssued = { labelSelector: LABEL_CREDENTIAL, transform: trimCredential };
  const named = (name: string) => ({ namespace: platformNamespace, fieldSelector: `metadata.name=${name}` });
  const allocations = { namespace: platformNamespace, labelSelector: ALLOCATION_SELECTOR };
  return {
    clusters: declare<Cluster>("clusters", clusterKind, { ...byIdentity, ...byRules }, own),
    nodePools: declare("nodePools", nodePoolKind, { ...byIdentity, ...byRules, ...byCluster }, ofPools),
    accesses: declare<ClusterAccess>("accesses", clusterAccessKind, { ...byIdentity, ...byCluster }, own),
    inventories: declare<StorageInventory>("inventories", storageInventoryKind, {}, own),
    namespaces: declare("namespaces", namespaceKind, { [INDEX_ORGANIZATION]: indexByOrganization }),
    capiClusters: declare("capiClusters", capiClusterKind, byNamespace, { transform: trimCapiCluster }),
    machineDeployments: declare("machineDeployments", machineDeploymentKind, byPool, {
      transform: trimMachineDeployment,
    }),
    machineSets: declare("machineSets", machineSetKind, byPool, { transform: trimMachineSet }),
    machines: declare("machines", machineKind, byMachine, { transform: trimMachine }),
    clusterClasses: declare("clusterClasses", clusterClassKind),
    clusterSecrets: declare<AccessSecret>("clusterSecrets", metadataOnly(secretKind), {}, clusterSecrets),
    issuedCredentials: declare("issuedCredentials", secretKind, byRegistration, ofIssued),
    providerCredentials: declare(
      "providerCredentials",
      secretKind,
      {},
      {
        namespace: platformNamespace,
        transform: (secret) => (credentialNames.has(secret.metadata.name) ? trimToDigest(secret) : undefined),
      },
    ),
    providerCopies: declare("providerCopies", secretKind, byNamespace, {
      labelSelector: LABEL_PROVIDER_CREDENTIAL,
      transform: (secret) => trimToDigest(secret),
    }),
    resourceSets: declare("resourceSets", clusterResourceSetKind, byNamespace),
    resourceSetBindings: declare("resourceSetBindings", clusterResourceSetBindingKind),
    addOnConfigMaps: declare("addOnConfigMaps", configMapKind, byNamespace, describeManifests("utf8")),
    addOnSecrets: declare("addOnSecrets", secretKind, byNamespace, describeManifests("base64")),
    roles: declare("roles", roleKind, {}, ours),
    roleBindings: declare("roleBindings", roleBindingKind, {}, ours),
    serviceAccounts: declare("serviceAccounts", serviceAccountKind, {}, ours),
    deployments: declare("deployments", deploymentKind, {}, ours),
    catalogues: declare("catalogues", configMapKind, {}, named(VERSION_CATALOGUE_CONFIG_MAP)),
    packages: declare("packages", configMapKind, {}, named(PACKAGES_CONFIG_MAP)),
    capabilities: declare("capabilities", configMapKind, {}, named(CAPABILITIES_CONFIG_MAP)),
    subnetAllocations: declare("subnetAllocations", configMapKind, bySubnetOwner, allocations),
    events: declare("events", eventKind, byNamespace, {
      fieldSelector: EVENT_SELECTOR,
      transform: trimEvent,
    }),
  };
}

/** The manifests of add-ons, sources and copies, without their content. */
function describeManifests<T extends ConfigMap | Secret>(encoding: "utf8" | "base64"): Selection<T> {
  return {
    labelSelector: LABEL_ADD_ON,
    pageSize: MANIFESTS_PER_PAGE,
    transform: (object) => trimToDigest(object, hashManifests(object, encoding)),
  };
}

/** The caches that writes are waited for in: of ConfigMaps those of allocations alone, of Secrets those of credentials. */
function listWritten(stores: Stores): Map<Kind<unknown>, WatchedCache> {
  return new Map<Kind<unknown>, WatchedCache>([
    [clusterKind, stores.clusters],
    [nodePoolKind, stores.nodePools],
    [clusterAccessKind, stores.accesses],
    [storageInventoryKind, stores.inventories],
    [capiClusterKind, stores.capiClusters],
    [configMapKind, stores.subnetAllocations],
    [secretKind, stores.issuedCredentials],
    [roleKind, stores.roles],
    [roleBindingKind, stores.roleBindings],
    [serviceAccountKind, stores.serviceAccounts],
    [deploymentKind, stores.deployments],
  ]);
}
