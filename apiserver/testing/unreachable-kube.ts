import { createClient, type KubeClient } from "../../shared/kube/client.ts";
import { createTransport } from "../../shared/kube/transport.ts";

/**
 * Runs it with a client of a Kubernetes API that refuses every connection, so that no request is ever sent. The
 * deadline is long: on a slow machine a short one ends a call whose outcome is then unknown.
 */
export async function withUnreachableKube<T>(run: (kube: KubeClient) => Promise<T>): Promise<T> {
  const transport = createTransport({ connection: { server: "https://127.0.0.1:1" }, timeoutMs: 60_000 });
  try {
    return await run(createClient(transport));
  } finally {
    await transport.close();
  }
}
