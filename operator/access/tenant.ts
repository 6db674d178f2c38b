import type { Cluster } from "../../shared/crd/cluster.ts";
import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import type { Caches } from "../caches.ts";
import { type EngineState, readEngineCluster } from "../engine/cluster-state.ts";
import { type CaCertificate, markAuthority, nameAdminSecret } from "./admin-kubeconfig.ts";
import { type ClientCertificate, issueClientCertificate } from "./sign.ts";

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

/** The operator's way into the tenant clusters. */
export interface TenantAccess {
  /** Runs `use` with a client that is master of the tenant cluster, and closes it. */
  withTenant<Result>(
    cluster: Cluster,
    tenant: Pick<Tenant, "server" | "authority">,
    signal: AbortSignal,
    use: (client: KubeClient) => Promise<Result>,
  ): Promise<Result>;
  /** The cluster is gone. */
  forget(key: string): void;
}

/** Our own way into a tenant cluster: made anew for every fifth look or so, for that is most of a look's cost. */
const OWN_LIFETIME_MS = 60 * 60_000;
/** Clocks of the tenant's machines may be off. */
const CLOCK_SKEW_MS = 10 * 60_000;
const TENANT_TIMEOUT_MS = 5_000;

export interface TenantDeps {
  client: Pick<KubeClient, "get">;
  caches: Pick<Caches, "credentials">;
  now(): Date;
  /** Asked before every write to a tenant. */
  isLeader(): boolean;
}

/** Our own certificate for one tenant, and the CA that signed it. */
interface OwnAccess extends ClientCertificate {
  ca: CaCertificate;
  goodUntil: number;
}

/** A tenant's API server; undefined until the engine reported an address and there is a CA. */
export function findTenant(caches: Caches, key: string): Tenant | undefined {
  const engineCluster = caches.engineClusters.get(key);
  const state = engineCluster && readEngineCluster(engineCluster);
  const secret = caches.authorities.get(`${key}-ca`);
  if (state?.endpoint === undefined || secret === undefined) return undefined;
  return { state, server: state.endpoint.url, authority: markAuthority(secret.metadata) };
}

/**
 * Our own certificate is kept for its hour, for as long as the Secret of the CA is the same. The CA's key is read when it
 * is needed and kept nowhere.
 */
export function createTenantAccess(deps: TenantDeps): TenantAccess {
  const own = new Map<string, OwnAccess>();

  async function findOwn(cluster: Cluster, authority: string, signal: AbortSignal): Promise<OwnAccess> {
    const key = objectKey(cluster);
    const known = own.get(key);
    const now = deps.now().getTime();
    if (known?.ca.mark === authority && now < known.goodUntil) return known;
    const { certificate, mark, key: signingKey } = await readAuthority(deps, cluster, signal);
    const issued = await issueClientCertificate({
      ca: { certificate, key: signingKey },
      commonName: "cloud.marina.dev:operator",
      organization: "system:masters",
      notBefore: new Date(now - CLOCK_SKEW_MS),
      notAfter: new Date(now + OWN_LIFETIME_MS),
    });
    const cached = deps.caches.credentials.get(nameAdminSecret(key))?.data?.["ca.crt"];
    // The same text twice for each cluster would be a good part of what is kept.
    const ca = { certificate: cached === certificate ? cached : certificate, mark };
    const fresh = { ...issued, ca, goodUntil: now + OWN_LIFETIME_MS - CLOCK_SKEW_MS };
    own.set(key, fresh);
    return fresh;
  }

  return {
    async withTenant(cluster, { server, authority }, signal, use) {
      const { ca, certificate, key } = await findOwn(cluster, authority, signal);
      const connection = { server, ca: ca.certificate, cert: certificate, key };
      const transport = createTransport({ connection, timeoutMs: TENANT_TIMEOUT_MS });
      try {
        return await use(createClient(transport, { mayWrite: () => deps.isLeader() }));
      } catch (error) {
        // Whatever it is that it does not like, the next attempt is made with a certificate of that moment.
        own.delete(objectKey(cluster));
        throw error;
      } finally {
        await transport.close();
      }
    },
    forget(key) {
      own.delete(key);
    },
  };
}

/** The CA as it is now. Rejects when there is none. */
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
