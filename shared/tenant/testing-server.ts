import { once } from "node:events";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { connectTenant, type TenantDeadlines } from "./connect.ts";
import type { TenantClient } from "./tenant-client.ts";
import { makeAuthority, type TestPair } from "./testing.ts";

/** API servers of tenants, played by a function each. */
export interface TestServers {
  authority: TestPair;
  /** Returns the URL of a server with a certificate of the authority. */
  serve: (respond: (...call: Parameters<RequestListener>) => unknown) => Promise<string>;
  listen: (server: Server) => Promise<string>;
  connect: <Result>(
    server: string,
    use: (client: TenantClient) => Promise<Result>,
    /** Default: more than a slow machine needs. */
    deadlines?: TenantDeadlines,
  ) => Promise<Result>;
  stopAll: () => void;
}

export async function createTestServers(): Promise<TestServers> {
  const authority = await makeAuthority("kubernetes");
  let stop: (() => void)[] = [];

  async function listen(server: Server): Promise<string> {
    const sockets = new Set<{ destroy(): void }>();
    server.on("connection", (socket) => sockets.add(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    stop.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  return {
    authority,
    listen,
    serve: (respond) =>
      listen(
        createServer({ cert: authority.certificate, key: authority.key }, (request, response) => {
          respond(request, response);
        }),
      ),
    connect(server, use, deadlines = { callMs: 60_000, allMs: 60_000 }) {
      const options = { signal: new AbortController().signal, mayWrite: () => true };
      return connectTenant({ server, ca: authority.certificate }, options, use, deadlines);
    },
    stopAll() {
      for (const close of stop) close();
      stop = [];
    },
  };
}
