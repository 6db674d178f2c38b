import type { Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";

/** Above the 60 s after which common load balancers drop an idle connection, so that they are the first to. */
const KEEP_ALIVE_MS = 65_000;
const IDLE_SWEEP_MS = 100;

export interface RunningServer {
  /** `http://address:port` as it is bound. */
  address: string;
  /** Takes no new connection, lets requests under way end, and cuts what is left at the deadline. */
  drain(deadlineMs: number): Promise<void>;
}

/** Serves a fetch handler over HTTP/1.1. Rejects when the address cannot be bound. */
export async function listen(
  fetch: Parameters<typeof createAdaptorServer>[0]["fetch"],
  options: { address: string; port: number },
): Promise<RunningServer> {
  const server = createAdaptorServer({ fetch }) as Server;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = KEEP_ALIVE_MS + 5000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.address, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `http://${address.includes(":") ? `[${address}]` : address}:${port}`,
    drain: (deadlineMs) => drain(server, deadlineMs),
  };
}

async function drain(server: Server, deadlineMs: number): Promise<void> {
  server.prependListener("request", (_request: unknown, response: ServerResponse) => {
    response.setHeader("Connection", "close");
  });
  const closed = new Promise<"closed">((resolve) => {
    server.close(() => resolve("closed"));
  });
  const deadline = performance.now() + deadlineMs;
  while (performance.now() < deadline) {
    server.closeIdleConnections();
    if ((await Promise.race([closed, sleep(IDLE_SWEEP_MS)])) === "closed") return;
  }
  server.closeAllConnections();
  await closed;
}
