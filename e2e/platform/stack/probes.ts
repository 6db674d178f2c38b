import { connect } from "node:net";
import type { KubeApi } from "./kube-api.ts";

const TIMEOUT_MS = 1000;

/** Throws unless an HTTP GET returns 2xx. */
export async function requireHttpOk(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
}

/** Throws unless the Kubernetes API is ready. */
export async function requireKubeReady(api: KubeApi): Promise<void> {
  const { status, body } = await api.request("GET", "/readyz");
  if (status !== 200) throw new Error(`/readyz answers ${status}: ${String(body.message)}`);
}

/** Throws unless something listens on 127.0.0.1:port. */
export function requireOpenPort(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", timeout: TIMEOUT_MS });
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
    socket.once("timeout", () => socket.destroy(new Error(`port ${port} does not respond`)));
    socket.once("error", reject);
  });
}
