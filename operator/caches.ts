import type { WatchedCache } from "../shared/controller/expectations.ts";
import type { PlanContext } from "../shared/controller/plan.ts";
import type { Cluster } from "../shared/crd/cluster.ts";
import type { ClusterAccess } from "../shared/crd/cluster-access.ts";
import type { VersionCatalogue } from "../shared/crd/kubernetes-version.ts";
import type { NodePool } from "../shared/crd/node-pool.ts";
import type { Packages } from "../shared/crd/packages.ts";
import type { QuotaAmounts } from "../shared/crd/quota.ts";
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
import type { Kind } from "../shared/kube/kind.ts";
import type { Change } from "../shared/kube/reflector.ts";
import type { Store } from "../shared/kube/store.ts";
import type { CapiCluster, ClusterClass, Machine, MachineDeployment, MachineSet } from "./capi/kinds.ts";
import type { AuthoritySecret } from "./capi/secrets.ts";

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
  /** The Secrets of the tenant clusters' CAs: their metadata only. */
  authorities: AuthoritySecret;
  /** The admin kubeconfigs that we issued: of their content the CA's certificate only. */
  credentials: Secret;
  /** The Secrets of the platform's namespace that plans name, and their copies: a digest instead of the content. */
  providerCredentials: Secret;
  providerCopies: Secret;
  roles: RbacRole;
  roleBindings: RoleBinding;
  /** The autoscalers of clusters: objects with our cluster label. */
  serviceAccounts: ServiceAccount;
  deployments: Deployment;
  catalogues: ConfigMap;
  packages: ConfigMap;
  /** What the operator itself publishes of the cluster classes. */
  capabilities: ConfigMap;
  subnetLocks: ConfigMap;
  events: Event;
}

export type Stores = { readonly [Name in keyof Cached]: Store<Cached[Name]> };

/** What the operator reads instead of the API server. */
export type Caches = Stores & {
  /** The versions on offer; the last valid ones while the ConfigMap is invalid. */
  readCatalogue(): VersionCatalogue;
  /** The packages that clusters are billed as; the last valid ones while the ConfigMap is invalid. */
  readPackages(): Packages;
  /** What everything in a namespace would use of the quotas if every request were granted. */
  maximumUsage(namespace: string): QuotaAmounts;
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
