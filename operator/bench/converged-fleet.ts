import { withAppliedHash } from "../../shared/controller/applied.ts";
import type { Plan } from "../../shared/controller/plan.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { ANNOTATION_APPLIED, LABEL_ID } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import type { Secret } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { composeAdminSecret, LIFETIME_MS } from "../admin-kubeconfig/kubeconfig.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";
import { type ClusterSettings, observeCluster } from "../cluster/observe.ts";
import { reconcileCluster } from "../cluster/reconcile.ts";
import { observePool, type PoolSettings } from "../node-pool/observe.ts";
import { reconcilePool } from "../node-pool/reconcile.ts";
import { revisionOf } from "../tenant/access.ts";
import {
  composeRoleMetadata,
  composeSecretRole,
  composeSecretRoleBinding,
  type ServiceAccountName,
} from "../tenant/secret-role.ts";
import type { ClientCertificate } from "../tenant/sign.ts";
import { copyObjects, type Template } from "./copy.ts";
import { type BenchCaches, createBenchCaches } from "./memory.ts";

export type FleetSettings = ClusterSettings & PoolSettings;

/** The API server that simulates every tenant's. PEM. */
export interface Tenant {
  host: string;
  port: number;
  caCertificate: string;
  caKey: string;
}

export interface FleetOptions {
  template: Template;
  tenant: Tenant;
  credential: ClientCertificate;
  settings: FleetSettings;
  apiserver: ServiceAccountName;
}

/** A copy of the template that the operator finds nothing to do for. */
export interface ConvergedCluster {
  /** As the API server holds them, with managedFields. */
  objects: KubeObject[];
  cluster: string;
  pools: string[];
}

export const FOUND = {
  probe: { ok: true, message: "" },
  accessAttempts: { kubeconfig: {}, bindings: {} },
  tenantFindings: {},
  addOnObstacles: new Map(),
};
const HOUR_MS = 3600 * 1000;
/** More attempts than the operator needs for anything; a template that moves after that is of another build. */
const MAX_ATTEMPTS = 6;

/**
 * Makes converged clusters, each a copy of the template under its own names, and keeps them in caches like the operator's.
 * Throws when the operator would still write something for one.
 */
export function createFleet(options: FleetOptions): {
  caches: BenchCaches["caches"];
  make(index: number): ConvergedCluster;
  forget(converged: ConvergedCluster): void;
} {
  const memory = createBenchCaches(options.settings.platformNamespace);
  for (const object of options.template.shared) memory.put(object);

  function make(index: number): ConvergedCluster {
    const objects = new Map(
      copyObjects(options.template, index).map((object) => [identify(object), object] as const),
    );
    const put = (object: KubeObject) => {
      objects.set(identify(object), object);
      memory.put(object);
    };
    const find = <T extends KubeObject>(apiGroup: string, kind: string) =>
      [...objects.values()].filter((o) => o.kind === kind && o.apiVersion.startsWith(apiGroup)) as T[];
    for (const object of objects.values()) put(moveToTenant(object, options.tenant));
    const [cluster] = find<Cluster>("cloud.marina.dev", "Cluster");
    if (cluster === undefined) throw new Error("the template holds no Cluster");
    const ca = find<Secret>("v1", "Secret").find(({ metadata }) => metadata.name.endsWith("-ca"));
    const [capiCluster] = find<KubeObject>("cluster.x-k8s.io", "Cluster");
    const uids = { ca: ca?.metadata.uid, capiUid: capiCluster?.metadata.uid ?? "" };
    for (const object of makeAccess(cluster, uids, options)) {
      put({ ...object, metadata: { ...objects.get(identify(object))?.metadata, ...object.metadata } });
    }
    const key = objectKey(cluster);
    const pools = find<NodePool>("cloud.marina.dev", "NodePool").map(objectKey);
    converge(memory, options.settings, { key, pools }, put);
    const { phase, message } = memory.caches.clusters.get(key)?.status ?? {};
    if (phase !== "Ready") throw new Error(`${key} converges as ${phase}: ${message}`);
    return { objects: [...objects.values()], cluster: key, pools };
  }

  return {
    caches: memory.caches,
    make,
    forget: ({ objects }) => {
      for (const object of objects) memory.remove(object);
    },
  };
}

function identify(object: KubeObject): string {
  return `${object.apiVersion} ${object.kind} ${objectKey(object)}`;
}

/** Applies the plans for a copy until they are empty: other names lead to other hashes and messages. */
function converge(
  { caches }: BenchCaches,
  settings: FleetSettings,
  { key, pools }: { key: string; pools: string[] },
  put: (object: KubeObject) => void,
): void {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const now = new Date();
    let idle = true;
    for (const poolKey of pools) {
      const observed = observePool(caches, settings, poolKey);
      if (observed === undefined) throw new Error(`there is no pool ${poolKey}`);
      idle = follow(reconcilePool(observed, now), observed.pool, undefined, put) && idle;
    }
    const observed = observeCluster(caches, settings, FOUND, key, now);
    if (observed === undefined) throw new Error(`there is no cluster ${key}`);
    const capiCluster = observed.capi?.object;
    idle = follow(reconcileCluster(observed, now), observed.cluster, capiCluster, put) && idle;
    if (idle) return;
  }
  throw new Error(`${key} does not converge: the template was made by another operator`);
}

/** Whether the plan was empty. */
function follow(
  plan: Plan<unknown>,
  object: KubeObject,
  capiCluster: CapiCluster | undefined,
  put: (object: KubeObject) => void,
): boolean {
  if (plan.status !== undefined) put({ ...object, status: plan.status } as KubeObject);
  for (const step of [...plan.write, ...plan.remove]) {
    if (step.verb !== "apply" || step.kind !== capiClusterKind || capiCluster === undefined) {
      throw new Error(`the operator would still ${step.verb} a ${step.kind.kind}`);
    }
    const annotations = { ...capiCluster.metadata.annotations, ...step.object.metadata.annotations };
    put({ ...capiCluster, metadata: { ...capiCluster.metadata, annotations } });
  }
  if (plan.metadata !== undefined) throw new Error(`${objectKey(object)} lacks labels or the finalizer`);
  return plan.status === undefined && plan.write.length === 0;
}

/** Cluster API's objects name the API server that simulates the tenant's, and its CA. */
function moveToTenant(object: KubeObject, tenant: Tenant): KubeObject {
  if (object.kind === "Cluster" && object.apiVersion.startsWith("cluster.x-k8s.io")) {
    const { spec, ...rest } = object as CapiCluster;
    const { host, port } = tenant;
    return { ...rest, spec: { ...spec, controlPlaneEndpoint: { host, port } } } as KubeObject;
  }
  if (object.kind !== "Secret" || !object.metadata.name.endsWith("-ca")) return object;
  const data = { "tls.crt": encode(tenant.caCertificate), "tls.key": encode(tenant.caKey) };
  return { ...object, data } as Secret;
}

function makeAccess(
  cluster: Cluster,
  uids: { ca: string | undefined; capiUid: string },
  options: FleetOptions,
): KubeObject[] {
  const { tenant, apiserver, credential } = options;
  const clusterId = cluster.metadata.labels?.[LABEL_ID] ?? "";
  const server = `https://${tenant.host}:${tenant.port}`;
  const basis = {
    clusterId,
    credentialsGeneration: 0,
    server,
    accessSource: "ca" as const,
    capiUid: uids.capiUid,
  };
  const now = new Date(Date.now() - HOUR_MS);
  const issued = { credential, expiresAt: new Date(now.getTime() + LIFETIME_MS) };
  const role = composeRoleMetadata(cluster, clusterId);
  const { namespace, name } = cluster.metadata;
  // Who stores the objects fills in the version that the Secret is given.
  const resourceVersion = `{revision of /registry/secrets/${namespace}/${name}-ca}`;
  const revision = revisionOf({ name, ...(uids.ca && { uid: uids.ca }), resourceVersion });
  const ca = { certificate: tenant.caCertificate, revision };
  return [
    withAppliedHash(composeSecretRole(role), ANNOTATION_APPLIED),
    withAppliedHash(composeSecretRoleBinding(role, apiserver), ANNOTATION_APPLIED),
    composeAdminSecret(cluster, basis, ca, issued, now),
  ];
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
