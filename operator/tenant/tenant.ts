import type { Cluster } from "../../shared/crd/cluster.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import type { KubeConnection } from "../../shared/kube/connection.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { CLOCK_SKEW_MS } from "../../shared/program/time.ts";
import { connectTenant, type TenantDeadlines } from "../../shared/tenant/connect.ts";
import type { TenantClient } from "../../shared/tenant/tenant-client.ts";
import type { Caches } from "../caches.ts";
import type { CapiState } from "../capi/cluster-state.ts";
import { findCapi } from "../identity/ownership.ts";
import { type AccessSource, findAccessSource, readCapiAccess, readCertificateAuthority } from "./access.ts";
import { issueClientCertificate } from "./sign.ts";

/** A tenant's API server, as reported by Cluster API. */
export interface TenantEndpoint {
  server: string;
  accessSource: AccessSource;
  state: CapiState;
  /** The uid of the Cluster API cluster. */
  capiUid: string;
}

/** Connects the operator to tenant clusters. */
export interface TenantAccess {
  /**
   * Runs `use` with a client in the group system:masters of the tenant cluster, or with Cluster API's own credential,
   * and closes it. Its calls are bounded by connectTenant; rejects with the KubeError of either API server.
   */
  withTenant<Result>(
    cluster: Cluster,
    tenant: Pick<TenantEndpoint, "server" | "accessSource">,
    signal: AbortSignal,
    use: (client: TenantClient) => Promise<Result>,
    deadlines?: TenantDeadlines,
  ): Promise<Result>;
  /** Drops the certificate of a deleted cluster. */
  forget(key: string): void;
}

/** Lifetime of our own certificate. Renewed for about every fifth connection: issuing it is most of the cost of one. */
const OWN_LIFETIME_MS = 60 * 60_000;
/** Our own certificate also allows for clocks that are ahead, and is short-lived enough for a wider tolerance. */
const OWN_SKEW_MS = 2 * CLOCK_SKEW_MS;
export interface TenantDeps {
  client: Pick<KubeClient, "get">;
  now(): Date;
  /** Checked before every write to a tenant. */
  isLeader(): boolean;
}

/** What connects to one tenant: our own certificate, or Cluster API's credential. */
interface OwnCredential {
  connection: Omit<KubeConnection, "server">;
  revision: string;
  goodUntil: number;
}

type NewCredential = Pick<OwnCredential, "connection" | "revision">;

/**
 * A tenant's API server; undefined until Cluster API reported an address and there is a CA or a kubeconfig, and for a
 * foreign cluster.
 */
export function findTenantEndpoint(
  caches: Pick<Caches, "clusters" | "capiClusters" | "clusterSecrets">,
  key: string,
): TenantEndpoint | undefined {
  const { state, object } = findCapi(caches, key).capi ?? {};
  const accessSource = findAccessSource(caches, key);
  if (state?.endpoint === undefined || accessSource === undefined) return undefined;
  return { state, server: state.endpoint.url, accessSource, capiUid: object?.metadata.uid ?? "" };
}

/**
 * Our own certificate is kept for its lifetime while the revision of the Secret that it comes from stays the same, and
 * Cluster API's credential as long. The CA's key is read when it is needed and not kept.
 */
export function createTenantAccess(deps: TenantDeps): TenantAccess {
  const own = new Map<string, OwnCredential>();

  async function findOwn(
    cluster: Cluster,
    { kind, revision }: AccessSource,
    signal: AbortSignal,
  ): Promise<OwnCredential> {
    const key = objectKey(cluster);
    const known = own.get(key);
    const now = deps.now().getTime();
    if (known?.revision === revision && now < known.goodUntil) return known;
    const read = kind === "ca" ? issueOwn : readOwn;
    const goodUntil = now + OWN_LIFETIME_MS - OWN_SKEW_MS;
    const fresh = { ...(await read(deps, cluster, signal)), goodUntil };
    own.set(key, fresh);
    return fresh;
  }

  return {
    async withTenant(cluster, { server, accessSource }, signal, use, deadlines) {
      const { connection } = await findOwn(cluster, accessSource, signal);
      const options = { signal, mayWrite: () => deps.isLeader() };
      try {
        return await connectTenant({ server, ...connection }, options, use, deadlines);
      } catch (error) {
        // Whatever the tenant rejected, the next attempt uses a new credential.
        own.delete(objectKey(cluster));
        throw error;
      }
    },
    forget(key) {
      own.delete(key);
    },
  };
}

async function issueOwn(deps: TenantDeps, cluster: Cluster, signal: AbortSignal): Promise<NewCredential> {
  const { revision, ...ca } = await readCertificateAuthority(deps, cluster, signal);
  const now = deps.now().getTime();
  const { certificate: cert, key } = await issueClientCertificate({
    ca,
    commonName: "cloud.marina.dev:operator",
    organization: "system:masters",
    notBefore: new Date(now - OWN_SKEW_MS),
    notAfter: new Date(now + OWN_LIFETIME_MS),
  });
  return { revision, connection: { ca: ca.certificate, cert, key } };
}

async function readOwn(deps: TenantDeps, cluster: Cluster, signal: AbortSignal): Promise<NewCredential> {
  const { ca, credential } = await readCapiAccess(deps, cluster, signal);
  const { revision, certificate } = ca;
  if (!("token" in credential)) return { revision, connection: { ca: certificate, ...credential } };
  const headers = { authorization: `Bearer ${credential.token}` };
  return { revision, connection: { ca: certificate, readHeaders: async () => headers } };
}
