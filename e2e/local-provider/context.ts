import type { Recorder } from "../../shared/controller/recorder.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import type { Secret } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import type { Store } from "../../shared/kube/store.ts";
import type { Logger } from "../../shared/log.ts";
import type { EngineMachine } from "./engine-kinds.ts";
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
import type { ProgramSettings } from "./programs.ts";
import type { Tenant } from "./tenant.ts";
import type { TenantApis } from "./tenant-apis.ts";
import type { TenantPorts } from "./tenant-ports.ts";
import type { Versions } from "./versions.ts";

/** What the provider's process is told at its start. */
export interface Settings {
  runDir: string;
  kubeconfig: string;
  healthPort: number;
  frontUrl: string;
  platformCIDRs: readonly string[];
  toolsDir: string;
  programs: ProgramSettings;
}

/** What is watched. */
export interface Stores {
  clusters: Store<LocalCluster>;
  controlPlanes: Store<LocalControlPlane>;
  machines: Store<LocalMachine>;
  bootstraps: Store<LocalBootstrap>;
  engineMachines: Store<EngineMachine>;
  secrets: Store<Secret>;
}

/** Everything that a reconcile observes by and acts with. */
export interface Context {
  settings: Settings;
  client: KubeClient;
  stores: Stores;
  recorder: Recorder;
  processes: Processes;
  ports: TenantPorts;
  fronts: FrontClient;
  keys: TenantKeys;
  versions: Versions;
  apis: TenantApis;
  /** Kube-apiservers that start at this moment, by process name. */
  starting: Set<string>;
  /** What the last thing that was done for a tenant failed with, by its id; it is missing when it went well. */
  failures: Map<string, string>;
  /** Asks for another look at the LocalCluster of a tenant. */
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
