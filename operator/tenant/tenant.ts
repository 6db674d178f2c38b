import { CLOCK_SKEW_MS } from "../../shared/controller/time.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import type { EngineState } from "../engine/cluster-state.ts";
import { nameCaSecret, readCaSecret } from "../engine/secrets.ts";
import { findEngine } from "../ownership.ts";
import { connectTenant } from "./connect.ts";
import { type ClientCertificate, issueClientCertificate } from "./sign.ts";
import type { TenantClient } from "./tenant-client.ts";

/** A tenant's API server, as reported by Cluster API. */
export interface Tenant {
  server: string;
  /** The revision of the Secret of its CA. */
  caRevision: string;
  state: EngineState;
}

/** The certificate of a tenant's CA (PEM), and the revision of the Secret that holds it. */
export interface CaCertificate {
  certificate: string;
  revision: string;
}

/** The CA of a tenant with its key (PEM). */
export interface CertificateAuthority extends CaCertificate {
  key: string;
}

/** Connects the operator to tenant clusters. */
export interface TenantAccess {
  /**
   * Runs `use` with a client in the group system:masters of the tenant cluster, and closes it. Its calls are
   * bounded by connectTenant; rejects with the KubeError of either API server.
   */
  withTenant<Result>(
    cluster: Cluster,
    tenant: Pick<Tenant, "server" | "caRevision">,
    signal: AbortSignal,
    use: (client: TenantClient) => Promise<Result>,
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

/** Our own certificate for one tenant, and the CA that signed it. */
interface OwnCertificate extends ClientCertificate {
  ca: CaCertificate;
  goodUntil: number;
}

/** A tenant's API server; undefined until Cluster API reported an address and there is a CA, and for a foreign cluster. */
export function findTenant(
  caches: Pick<Caches, "clusters" | "engineClusters" | "caSecrets">,
  key: string,
): Tenant | undefined {
  const state = findEngine(caches, key).engine?.state;
  const secret = caches.caSecrets.get(nameCaSecret(key));
  if (state?.endpoint === undefined || secret === undefined) return undefined;
  return { state, server: state.endpoint.url, caRevision: revisionOf(secret.metadata) };
}

/** Identifies the content of a Secret: another revision may hold another certificate, or the same one. */
export function revisionOf({ uid, resourceVersion }: ObjectMeta): string {
  return `${uid}/${resourceVersion}`;
}

/**
 * Our own certificate is kept for its lifetime while the revision of the CA's Secret stays the same. The CA's key is read
 * when it is needed and not kept.
 */
export function createTenantAccess(deps: TenantDeps): TenantAccess {
  const own = new Map<string, OwnCertificate>();

  async function findOwn(cluster: Cluster, caRevision: string, signal: AbortSignal): Promise<OwnCertificate> {
    const key = objectKey(cluster);
    const known = own.get(key);
    const now = deps.now().getTime();
    if (known?.ca.revision === caRevision && now < known.goodUntil) return known;
    const { key: signingKey, ...ca } = await readCertificateAuthority(deps, cluster, signal);
    const issued = await issueClientCertificate({
      ca: { certificate: ca.certificate, key: signingKey },
      commonName: "cloud.marina.dev:operator",
      organization: "system:masters",
      notBefore: new Date(now - OWN_SKEW_MS),
      notAfter: new Date(now + OWN_LIFETIME_MS),
    });
    const fresh = { ...issued, ca, goodUntil: now + OWN_LIFETIME_MS - OWN_SKEW_MS };
    own.set(key, fresh);
    return fresh;
  }

  return {
    async withTenant(cluster, { server, caRevision }, signal, use) {
      const { ca, certificate, key } = await findOwn(cluster, caRevision, signal);
      const options = { signal, mayWrite: () => deps.isLeader() };
      try {
        return await connectTenant({ server, ca: ca.certificate, cert: certificate, key }, options, use);
      } catch (error) {
        // Whatever the tenant rejected, the next attempt uses a new certificate.
        own.delete(objectKey(cluster));
        throw error;
      }
    },
    forget(key) {
      own.delete(key);
    },
  };
}

/** Reads the current CA of a cluster. Rejects when there is none. */
export async function readCertificateAuthority(
  deps: Pick<TenantDeps, "client">,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<CertificateAuthority> {
  const { namespace, name } = cluster.metadata;
  const secretName = nameCaSecret(name);
  const secret = await deps.client.get(secretKind, namespace, secretName, { signal });
  const authority = secret && readCaSecret(secret);
  if (secret === undefined || authority === undefined) {
    throw new Error(`the Secret ${namespace}/${secretName} does not hold a certificate and its key`);
  }
  return { ...authority, revision: revisionOf(secret.metadata) };
}
