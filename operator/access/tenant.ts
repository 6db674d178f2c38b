import type { Cluster } from "../../shared/crd/cluster.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Caches } from "../caches.ts";
import { type EngineState, readEngineCluster } from "../engine/cluster-state.ts";
import { issueClientCertificate } from "./sign.ts";

/** Where a tenant's API server is, and the CA that it is verified with. PEM. */
export interface TenantEndpoint {
  server: string;
  caCertificate: string;
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

/** A tenant's endpoint as far as it is known; undefined until the engine reported address and CA. */
export function findTenant(
  caches: Caches,
  key: string,
): { endpoint: TenantEndpoint; state: EngineState } | undefined {
  const engineCluster = caches.engineClusters.get(key);
  const state = engineCluster && readEngineCluster(engineCluster);
  const certificate = caches.authorities.get(`${key}-ca`)?.data?.["tls.crt"];
  if (state?.endpoint === undefined || certificate === undefined) return undefined;
  return { state, endpoint: { server: state.endpoint.url, caCertificate: decode(certificate) } };
}

/** Runs `use` with a client that is master of the tenant cluster, and closes it. */
export async function withTenant<Result>(
  deps: TenantDeps,
  cluster: Cluster,
  endpoint: TenantEndpoint,
  signal: AbortSignal,
  use: (tenant: KubeClient) => Promise<Result>,
): Promise<Result> {
  const now = deps.now();
  const own = await issueClientCertificate({
    ca: await readAuthority(deps, cluster, endpoint, signal),
    commonName: "cloud.marina.dev:operator",
    organization: "system:masters",
    notBefore: new Date(now.getTime() - OWN_LIFETIME_MS),
    notAfter: new Date(now.getTime() + OWN_LIFETIME_MS),
  });
  const { server, caCertificate } = endpoint;
  const connection = { server, ca: caCertificate, cert: own.certificate, key: own.key };
  const transport = createTransport({ connection, timeoutMs: TENANT_TIMEOUT_MS });
  try {
    return await use(createClient(transport, { mayWrite: () => deps.isLeader() }));
  } finally {
    await transport.close();
  }
}

/** The CA's key is read when it is needed and kept nowhere. Rejects when there is none. */
export async function readAuthority(
  deps: Pick<TenantDeps, "client">,
  cluster: Cluster,
  endpoint: TenantEndpoint,
  signal: AbortSignal,
): Promise<{ certificate: string; key: string }> {
  const { namespace, name } = cluster.metadata;
  const secret = await deps.client.get(secretKind, namespace, `${name}-ca`, { signal });
  const key = secret?.data?.["tls.key"];
  if (key === undefined) throw new Error(`the Secret ${namespace}/${name}-ca holds no key`);
  return { certificate: endpoint.caCertificate, key: decode(key) };
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
