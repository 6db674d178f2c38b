import { connect, createServer, type Socket } from "node:net";
import { loopbackOfPod } from "./addresses.ts";
import type { EndpointSlice } from "./kinds.ts";

export interface Endpoint {
  host: string;
  port: number;
}

/**
 * Where new connections to a port of a Service go: the ready endpoints, and without any those that still serve while
 * they are terminated, as kube-proxy does.
 */
export function selectEndpoints(slices: readonly EndpointSlice[], portName: string): Endpoint[] {
  const all = slices.flatMap(({ endpoints, ports }) => {
    const port = ports?.find(({ name = "" }) => name === portName)?.port;
    if (port === undefined) return [];
    return (endpoints ?? []).flatMap(({ addresses, conditions = {} }) =>
      addresses.map((address) => ({ endpoint: { host: loopbackOfPod(address), port }, conditions })),
    );
  });
  const ready = all.filter(({ conditions }) => conditions.ready !== false);
  const serving = all.filter(({ conditions }) => conditions.serving === true && conditions.terminating);
  return (ready.length > 0 ? ready : serving).map(({ endpoint }) => endpoint);
}

/** Listens at the address of a Service, and joins each connection with one of its endpoints, in turns. */
export interface ServiceProxy {
  close(): void;
}

export function openServiceProxy(at: Endpoint, endpointsOf: () => Endpoint[]): ServiceProxy {
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    const endpoints = endpointsOf();
    const endpoint = endpoints[turn++ % Math.max(1, endpoints.length)];
    // Without an endpoint kube-proxy refuses.
    if (endpoint === undefined) return void client.resetAndDestroy();
    const upstream = connect(endpoint);
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    }
    client.once("error", () => upstream.destroy());
    upstream.once("error", () => client.resetAndDestroy());
    client.once("close", () => upstream.destroy());
    client.pipe(upstream).pipe(client);
  });
  server.listen(at.port, at.host);
  return {
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
