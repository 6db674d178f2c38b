import type { Recorder } from "../../../shared/controller/recorder.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import type { Secret } from "../../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../../shared/kube/kind.ts";
import type { Store } from "../../../shared/kube/store.ts";
import type { Logger } from "../../../shared/program/log.ts";
import type { CapiMachine } from "./capi-kinds.ts";
import type { Config } from "./config.ts";
import type { TenantKeys } from "./etcd.ts";
import type { FrontClient } from "./front/client.ts";
import {
  LABEL_CLUSTER_NAME,
  type LocalBootstrap,
  type LocalCluster,
  type LocalControlPlane,
  type LocalMachine,
} from "./kinds.ts";
import type { Processes } from "./processes.ts";
import type { Tenant } from "./tenant.ts";
import type { TenantApis } from "./tenant-apis.ts";
import type { TenantPorts } from "./tenant-ports.ts";
import type { Versions } from "./versions.ts";

/** The caches of the watched kinds. */
export interface Stores {
  clusters: Store<LocalCluster>;
  controlPlanes: Store<LocalControlPlane>;
  machines: Store<LocalMachine>;
  bootstraps: Store<LocalBootstrap>;
  capiMachines: Store<CapiMachine>;
  secrets: Store<Secret>;
}

/** The dependencies of every controller. */
export interface Context {
  config: Config;
  client: KubeClient;
  stores: Stores;
  recorder: Recorder;
  processes: Processes;
  ports: TenantPorts;
  fronts: FrontClient;
  keys: TenantKeys;
  versions: Versions;
  apis: TenantApis;
  /** Kube-apiservers that are starting, by process name. */
  starting: Set<string>;
  /** The error of the last step for a tenant, by its id; absent after a success. */
  failures: Map<string, string>;
  /** Queues the LocalCluster of a tenant. */
  wakeCluster(tenant: Tenant): void;
  log: Logger;
}

/** The tenant that an object of the provider belongs to; undefined while Cluster API has not labelled it. */
export function findTenant({ metadata }: KubeObject): Tenant | undefined {
  const name = metadata.labels?.[LABEL_CLUSTER_NAME];
  const { namespace } = metadata;
  return name === undefined || namespace === undefined ? undefined : { namespace, name };
}

/** Index of the stores of our kinds: "namespace/cluster". */
export const INDEX_TENANT = "tenant";

export function indexByTenant(object: KubeObject): string[] {
  const tenant = findTenant(object);
  return tenant === undefined ? [] : [`${tenant.namespace}/${tenant.name}`];
}

/** The object of the tenant in a store; Cluster API makes one LocalCluster and one LocalControlPlane per cluster. */
export function findByTenant<T extends KubeObject>(
  store: Store<T>,
  { namespace, name }: Tenant,
): T | undefined {
  return store.byIndex(INDEX_TENANT, `${namespace}/${name}`)[0];
}
