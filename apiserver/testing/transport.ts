import type { Transport } from "../../shared/kube/transport.ts";

/**
 * A transport without the deadlines of single calls, only with its own: a request that waits for as little as 2 s for
 * the Kubernetes API goes on without what it asked for or leaves the rest to a job, which does not run in tests.
 */
export function withoutCallDeadlines(transport: Transport): Transport {
  return {
    ...transport,
    request: (request) => transport.request({ ...request, timeoutMs: undefined }),
  };
}
