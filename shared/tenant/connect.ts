import { X509Certificate } from "node:crypto";
import type { KubeConnection } from "../kube/connection.ts";
import { KubeError } from "../kube/errors.ts";
import { createTransport } from "../kube/transport.ts";
import { createSharedSlots } from "../program/limits.ts";
import { createTenantClient, type TenantClient, type TenantClientOptions } from "./tenant-client.ts";

/** How long a tenant's API server is waited for, and how much it may send. */
export interface TenantDeadlines {
  /** One call. */
  callMs: number;
  /** Everything that is done over one connection. */
  allMs: number;
  /** One response; default 4 MiB. */
  maxResponseBytes?: number;
  /** One response that is read line by line; default as for others. */
  maxStreamBytes?: number;
  /** All responses together; default no limit. */
  maxTotalBytes?: number;
}

/** For what is read of a tenant cluster as a whole, as before an upgrade. */
export const READ_LIMITS = {
  callMs: 5_000,
  allMs: 5_000,
  maxStreamBytes: 16 * 1024 * 1024,
  maxTotalBytes: 64 * 1024 * 1024,
} as const satisfies TenantDeadlines;

/** As many clusters are read as a whole at once, and one of an organization: each may send `maxTotalBytes`. */
const MAX_READS = 4;

/** Slots for the reads that READ_LIMITS bound. */
export function createReadSlots(): {
  /** Resolves with what returns the slot. Rejects, with none taken, once `signal` aborts. `organization`: its id or Namespace. */
  take(organization: string, signal: AbortSignal): Promise<() => void>;
} {
  return createSharedSlots({ perKey: 1, all: MAX_READS });
}

const CALL_TIMEOUT_MS = 5_000;

const TENANT_DEADLINE_MS = 10_000;

/**
 * Limit of one response. A list of bindings takes about 1 KiB each, 250 a page; the largest object that etcd takes (1.5
 * MiB) is up to twice as large as JSON.
 */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/**
 * Calls a second: no share of the management cluster's, of which a dry run has 17. Time and bytes are bounded, and the server
 * is the tenant's own.
 */
const RATE = { qps: 1_000, burst: 1_000 };

/**
 * Runs `use` with a client of a tenant's API server, and closes it. Ends within its deadlines, however that server
 * responds; redirects are not followed. Rejects with a KubeError.
 */
export async function connectTenant<Result>(
  connection: KubeConnection,
  { signal, mayWrite }: Pick<TenantClientOptions, "signal" | "mayWrite">,
  use: (client: TenantClient) => Promise<Result>,
  { callMs, allMs, maxResponseBytes, maxStreamBytes, maxTotalBytes }: TenantDeadlines = {
    callMs: CALL_TIMEOUT_MS,
    allMs: TENANT_DEADLINE_MS,
  },
): Promise<Result> {
  let server: X509Certificate | undefined;
  const transport = createTransport({
    ...RATE,
    connection,
    onCertificate(certificate) {
      server = certificate;
    },
    timeoutMs: callMs,
    maxResponseBytes: maxResponseBytes ?? MAX_RESPONSE_BYTES,
    maxStreamBytes,
    maxTotalBytes,
  });
  const deadline = AbortSignal.timeout(allMs);
  const options = {
    signal: AbortSignal.any([signal, deadline]),
    mayWrite,
    certificates: () => ({ authorities: readAuthorities(connection.ca), server }),
  };
  try {
    return await use(createTenantClient(transport, options));
  } catch (error) {
    throw deadline.aborted && !signal.aborted ? toDeadlineError(error, allMs) : error;
  } finally {
    await transport.close();
  }
}

function toDeadlineError(cause: unknown, deadlineMs: number): KubeError {
  const kubeMessage = `not done within ${deadlineMs / 1000} s`;
  return new KubeError({ status: 0, reason: "DeadlineExceeded", kubeMessage, cause });
}

/** A sentence for tenants, who know the user of the credential as the platform; the message is cut by the tenant's client. */
export function describeTenantError({ reason, kubeMessage }: KubeError): string {
  if (reason === "Aborted") return "The cluster did not answer in time.";
  const why = kubeMessage.replace(/\bUser "[^"]*"/, "the platform");
  return `The API server of the cluster could not be read: ${why}`;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** For a file in which each was read by TLS: there is none that cannot be read after a handshake. */
function readAuthorities(ca: string | undefined): X509Certificate[] {
  return (ca?.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
}
