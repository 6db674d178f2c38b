import type { KubeConnection } from "../kube/connection.ts";
import { KubeError } from "../kube/errors.ts";
import { createTransport } from "../kube/transport.ts";
import { createTenantClient, type TenantClient, type TenantClientOptions } from "./tenant-client.ts";

/** How long a tenant's API server is waited for, and how much it may send. */
export interface TenantDeadlines {
  /** One call. */
  callMs: number;
  /** Everything that is done over one connection. */
  allMs: number;
  /** One response; default 4 MiB. */
  maxResponseBytes?: number;
  /** All responses together; default no limit. */
  maxTotalBytes?: number;
}

const CALL_TIMEOUT_MS = 5_000;

const TENANT_DEADLINE_MS = 10_000;

/**
 * Limit of one response. A list of bindings takes about 1 KiB each, 250 a page; the largest object that etcd takes (1.5
 * MiB) is up to twice as large as JSON.
 */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;

/**
 * Runs `use` with a client of a tenant's API server, and closes it. Ends within its deadlines, however that server
 * responds; redirects are not followed. Rejects with a KubeError.
 */
export async function connectTenant<Result>(
  connection: KubeConnection,
  { signal, mayWrite }: TenantClientOptions,
  use: (client: TenantClient) => Promise<Result>,
  { callMs, allMs, maxResponseBytes, maxTotalBytes }: TenantDeadlines = {
    callMs: CALL_TIMEOUT_MS,
    allMs: TENANT_DEADLINE_MS,
  },
): Promise<Result> {
  const transport = createTransport({
    connection,
    timeoutMs: callMs,
    maxResponseBytes: maxResponseBytes ?? MAX_RESPONSE_BYTES,
    maxTotalBytes,
  });
  const deadline = AbortSignal.timeout(allMs);
  try {
    return await use(
      createTenantClient(transport, { signal: AbortSignal.any([signal, deadline]), mayWrite }),
    );
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
