import type { Cluster } from "../../shared/crd/cluster.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Caches } from "../caches.ts";
import { type EngineState, readEngineCluster } from "../engine/cluster-state.ts";
import { type CaCertificate, markAuthority } from "./admin-kubeconfig.ts";
import { issueClientCertificate } from "./sign.ts";

/** A tenant's API server, as far as the engine tells of it. */
export interface Tenant {
  server: string;
  /** The mark of the Secret of its CA. */
  authority: string;
  state: EngineState;
}

/** The CA of a tenant with its key. PEM. */
export interface Authority extends CaCertificate {
  key: string;
}

/** Our own way into a tenant cluster lasts just for one look. */
const OWN_LIFETIME_MS = 10 * 60_000;
const TENANT_TIMEOUT_MS = 5_000;

export interface TenantDeps {
  client: Pick<KubeClient, "get">;
  now(): Date;
  /** Asked before every write to a tenant. */
  isLeader(): boolean;
}

/** A tenant's API server; undefined until the engine reported an address and there is a CA. */
export function findTenant(caches: Caches, key: string): Tenant | undefined {
  const engineCluster = caches.engineClusters.get(key);
  const state = engineCluster && readEngineCluster(engineCluster);
  const secret = caches.authorities.get(`${key}-ca`);
  if (state?.endpoint === undefined || secret === undefined) return undefined;
  return { state, server: state.endpoint.url, authority: markAuthority(secret.metadata) };
}

/** Runs `use` with a client that is master of the tenant cluster, and closes it. */
export async function withTenant<Result>(
  deps: TenantDeps,
  cluster: Cluster,
  server: string,
  signal: AbortSignal,
  use: (tenant: KubeClient) => Promise<Result>,
): Promise<Result> {
  const now = deps.now();
  const ca = await readAuthority(deps, cluster, signal);
  const own = await issueClientCertificate({
    ca,
    commonName: "cloud.marina.dev:operator",
    organization: "system:masters",
    notBefore: new Date(now.getTime() - OWN_LIFETIME_MS),
    notAfter: new Date(now.getTime() + OWN_LIFETIME_MS),
  });
  const connection = { server, ca: ca.certificate, cert: own.certificate, key: own.key };
  const transport = createTransport({ connection, timeoutMs: TENANT_TIMEOUT_MS });
  try {
    return await use(createClient(transport, { mayWrite: () => deps.isLeader() }));
  } finally {
    await transport.close();
  }
}

/** The CA is read when it is needed, and its key is kept nowhere. Rejects when there is none. */
export async function readAuthority(
  deps: Pick<TenantDeps, "client">,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Authority> {
  const { namespace, name } = cluster.metadata;
  const secret = await deps.client.get(secretKind, namespace, `${name}-ca`, { signal });
  const { "tls.crt": certificate, "tls.key": key } = secret?.data ?? {};
  if (secret === undefined || certificate === undefined || key === undefined) {
    throw new Error(`the Secret ${namespace}/${name}-ca holds no certificate with its key`);
  }
  return { certificate: decode(certificate), key: decode(key), mark: markAuthority(secret.metadata) };
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
