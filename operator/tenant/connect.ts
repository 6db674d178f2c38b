import type { KubeConnection } from "../../shared/kube/connection.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { createTransport } from "../../shared/kube/transport.ts";
import { createTenantClient, type TenantClient, type TenantClientOptions } from "./tenant-client.ts";

/** Of one call, and of everything that is done over one connection. */
export const CALL_TIMEOUT_MS = 5_000;
export const TENANT_DEADLINE_MS = 10_000;
/** Of one response. A list of bindings takes about 1 KiB each, 250 a page. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/**
 * Runs `use` with a client of a tenant's API server, and closes it. Ends within TENANT_DEADLINE_MS, however that server
 * responds; redirects are not followed. Rejects with a KubeError.
 */
export async function connectTenant<Result>(
  connection: KubeConnection,
  { signal, mayWrite }: TenantClientOptions,
  use: (client: TenantClient) => Promise<Result>,
): Promise<Result> {
  const transport = createTransport({
    connection,
    timeoutMs: CALL_TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const deadline = AbortSignal.timeout(TENANT_DEADLINE_MS);
  try {
    return await use(
      createTenantClient(transport, { signal: AbortSignal.any([signal, deadline]), mayWrite }),
    );
  } catch (error) {
    throw deadline.aborted && !signal.aborted ? toDeadlineError(error) : error;
  } finally {
    await transport.close();
  }
}

function toDeadlineError(cause: unknown): KubeError {
  const kubeMessage = `not done within ${TENANT_DEADLINE_MS / 1000} s`;
  return new KubeError({ status: 0, reason: "DeadlineExceeded", kubeMessage, cause });
}
