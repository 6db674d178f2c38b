import { requestCertificate } from "./issue.ts";
import type { TenantClient } from "./tenant-client.ts";

/** The signer of a new control plane may come after its API server. */
const ASK_AGAIN_MS = 10 * 60_000;

/** Has control planes sign certificates, and remembers which of them do not: it takes seconds to find out. */
export interface Signers {
  /**
   * As `requestCertificate`, of the cluster under this key; undefined without a request for ten minutes after its control
   * plane signed nothing.
   */
  request(
    key: string,
    tenant: TenantClient,
    csr: string,
    lifetimeSeconds: number,
  ): Promise<string | undefined>;
  /** Drops what is known of a deleted cluster. */
  forget(key: string): void;
}

export function createSigners(now: () => Date): Signers {
  const askAgainAtMs = new Map<string, number>();
  return {
    async request(key, tenant, csr, lifetimeSeconds) {
      if (now().getTime() < (askAgainAtMs.get(key) ?? 0)) return undefined;
      const certificate = await requestCertificate(tenant, csr, lifetimeSeconds);
      if (certificate === undefined) askAgainAtMs.set(key, now().getTime() + ASK_AGAIN_MS);
      else askAgainAtMs.delete(key);
      return certificate;
    },
    forget(key) {
      askAgainAtMs.delete(key);
    },
  };
}
