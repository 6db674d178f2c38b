import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_ID, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { roleBindingKind, roleKind, secretKind } from "../../shared/kube/core-kinds.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Caches } from "../caches.ts";
import { type EngineState, readEngineCluster } from "../engine/cluster-state.ts";
import { hasFinalizer } from "../identity.ts";
import { isApplied, withAppliedHash } from "../runtime/applied.ts";
import type { ReconcileResult } from "../runtime/controller.ts";
import {
  composeAdminSecret,
  composeRequest,
  decideIssue,
  type KubeconfigBasis,
  nameAdminSecret,
  RENEW_AFTER_MS,
} from "./admin-kubeconfig.ts";
import { composeSecretRole, composeSecretRoleBinding, type ServiceAccountName } from "./role.ts";
import { issueClientCertificate } from "./sign.ts";
import { ensureAdminBinding } from "./tenant-binding.ts";

export interface AccessDeps {
  client: Pick<KubeClient, "get" | "apply">;
  caches: Caches;
  apiserver: ServiceAccountName;
  now(): Date;
  /** After each write, so that the cache can be waited for. */
  onWritten(kind: Kind<unknown>, resourceVersion: string): void;
}

const ANNOTATION_APPLIED = "cloud.marina.dev/applied";
/** The tenant's API may lose the binding (a restore): looked at again this often. */
const BINDING_CHECK_MS = 10 * 60_000;
/** Our own way into a tenant cluster lasts just for one look. */
const OWN_LIFETIME_MS = 10 * 60_000;
const TENANT_TIMEOUT_MS = 5_000;

/**
 * Keeps the admin access of one cluster: the right of the API server to read the kubeconfig, the kubeconfig itself as
 * soon as there are a CA and an endpoint, and its binding in the tenant cluster as soon as this answers. Rejects with
 * the KubeError of whoever refused; running it again is safe.
 */
export async function runAccess(
  deps: AccessDeps,
  key: string,
  signal: AbortSignal,
): Promise<ReconcileResult> {
  const { caches } = deps;
  const cluster = caches.clusters.get(key);
  const clusterId = cluster?.metadata.labels?.[LABEL_ID];
  if (cluster === undefined || clusterId === undefined || !isTakenIn(cluster)) return undefined;
  await applyRole(deps, cluster, clusterId, signal);
  const engineCluster = caches.engineClusters.get(key);
  const state = engineCluster && readEngineCluster(engineCluster);
  const basis = state && findBasis(caches, cluster, clusterId, state);
  if (basis === undefined) return undefined;
  const renewInMs = await issueWhenDue(deps, cluster, basis, signal);
  if (!state?.controlPlaneInitialized) return { requeueAfterMs: renewInMs };
  await bindInTenant(deps, cluster, basis, signal);
  return { requeueAfterMs: Math.min(renewInMs, BINDING_CHECK_MS) };
}

/** Only what carries our finalizer is served; what is being deleted is served no more. */
function isTakenIn({ metadata }: Cluster): boolean {
  return hasFinalizer(metadata) && metadata.deletionTimestamp === undefined;
}

async function applyRole(
  deps: AccessDeps,
  cluster: Cluster,
  clusterId: string,
  signal: AbortSignal,
): Promise<void> {
  const { caches } = deps;
  const roleKey = `${cluster.metadata.namespace}/${nameAdminSecret(cluster.metadata.name)}`;
  const role = withAppliedHash(composeSecretRole(cluster, clusterId), ANNOTATION_APPLIED);
  const binding = withAppliedHash(
    composeSecretRoleBinding(cluster, clusterId, deps.apiserver),
    ANNOTATION_APPLIED,
  );
  if (!isApplied(role, caches.roles.get(roleKey))) await apply(deps, roleKind, role, signal);
  if (!isApplied(binding, caches.roleBindings.get(roleKey))) {
    await apply(deps, roleBindingKind, binding, signal);
  }
}

function findBasis(
  caches: Caches,
  cluster: Cluster,
  clusterId: string,
  state: EngineState,
): KubeconfigBasis | undefined {
  const { namespace, name } = cluster.metadata;
  const certificate = caches.authorities.get(`${namespace}/${name}-ca`)?.data?.["tls.crt"];
  if (certificate === undefined || state.endpoint === undefined) return undefined;
  return {
    clusterId,
    credentialsGeneration: cluster.spec.credentialsGeneration ?? 0,
    server: state.endpoint.url,
    caCertificate: decode(certificate),
  };
}

/** Returns in how many ms the kubeconfig has to be renewed. */
async function issueWhenDue(
  deps: AccessDeps,
  cluster: Cluster,
  basis: KubeconfigBasis,
  signal: AbortSignal,
): Promise<number> {
  const now = deps.now();
  const { namespace, name } = cluster.metadata;
  const existing = deps.caches.credentials.get(`${namespace}/${nameAdminSecret(name)}`);
  const decision = decideIssue(existing, basis, now);
  if (!decision.issue) return decision.renewInMs;
  const ca = await readAuthority(deps, cluster, basis, signal);
  const credential = await issueClientCertificate({ ca, ...composeRequest(basis, now) });
  const secret = composeAdminSecret(cluster, basis, credential, now);
  await apply(deps, secretKind, secret, signal);
  return RENEW_AFTER_MS;
}

async function bindInTenant(
  deps: AccessDeps,
  cluster: Cluster,
  basis: KubeconfigBasis,
  signal: AbortSignal,
): Promise<void> {
  const now = deps.now();
  const ca = await readAuthority(deps, cluster, basis, signal);
  const own = await issueClientCertificate({
    ca,
    commonName: "cloud.marina.dev:operator",
    organization: "system:masters",
    notBefore: new Date(now.getTime() - OWN_LIFETIME_MS),
    notAfter: new Date(now.getTime() + OWN_LIFETIME_MS),
  });
  const connection = { server: basis.server, ca: basis.caCertificate, cert: own.certificate, key: own.key };
  const transport = createTransport({ connection, timeoutMs: TENANT_TIMEOUT_MS });
  try {
    await ensureAdminBinding(createClient(transport), basis.clusterId, basis.credentialsGeneration);
  } finally {
    await transport.close();
  }
}

/** The CA's key is read when it is needed and kept nowhere. */
async function readAuthority(
  deps: AccessDeps,
  cluster: Cluster,
  basis: KubeconfigBasis,
  signal: AbortSignal,
): Promise<{ certificate: string; key: string }> {
  const { namespace, name } = cluster.metadata;
  const secret = await deps.client.get(secretKind, namespace, `${name}-ca`, { signal });
  const key = secret?.data?.["tls.key"];
  if (key === undefined) throw new Error(`the Secret ${namespace}/${name}-ca holds no key`);
  return { certificate: basis.caCertificate, key: decode(key) };
}

async function apply<T extends KubeObject>(
  deps: AccessDeps,
  kind: Kind<T>,
  object: T,
  signal: AbortSignal,
): Promise<void> {
  const options = { fieldManager: MANAGER_OPERATOR, force: true, signal };
  const written = await deps.client.apply<KubeObject>(kind as Kind<KubeObject>, object, options);
  deps.onWritten(kind, written.metadata.resourceVersion ?? "");
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
