import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import type { RequestLimits } from "../limits.ts";
import { refuseConnect, refuseRequest, respondToClientError } from "./client-error.ts";
import { limitConnectionsPerAddress } from "./connection-limit.ts";

type FetchHandler = Parameters<typeof getRequestListener>[0];

/** Above the 60 s after which common load balancers drop an idle connection, so that they are the first to. */
const KEEP_ALIVE_MS = 65_000;
/** How often connections are checked against their deadlines; each may overrun by this much. */
const TIMEOUT_CHECK_MS = 1000;
const IDLE_SWEEP_MS = 100;
/** Thousands of streams reconnect at once after a restart; beyond Node's 511 their connections would be dropped. */
const ACCEPT_BACKLOG = 4096;

export interface RunningServer {
  /** `http://address:port` as it is bound. */
  address: string;
  /**
   * Serves for this time, and asks in every response that its connection be closed: a client that sends into a connection
   * which is being closed sees its request fail (RFC 9112, section 9.6).
   */
  announceClose(delayMs: number): Promise<void>;
  /** Accepts no new connection, lets requests in progress complete, and closes the rest at the deadline. */
  drain(deadlineMs: number): Promise<void>;
}

/** Serves a fetch handler over HTTP/1.1. Rejects when the address cannot be bound. */
export async function listen(
  fetch: FetchHandler,
  options: { address: string; port: number; limits: RequestLimits },
): Promise<RunningServer> {
  const server = createHttpServer(fetch, options.limits);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.address, ACCEPT_BACKLOG, () => {
      server.removeListener("error", reject);
      resolve();
    });
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    address: `http://${address.includes(":") ? `[${address}]` : address}:${port}`,
    announceClose: (delayMs) => announceClose(server, delayMs),
    drain: (deadlineMs) => drain(server, deadlineMs),
  };
}

/** A server with deadlines against slow and silent clients. */
function createHttpServer(fetch: FetchHandler, limits: RequestLimits): Server {
  const serverOptions = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: limits.headersSeconds * 1000,
    requestTimeout: limits.requestSeconds * 1000,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    maxHeaderSize: limits.maxHeaderBytes,
    // Node would refuse without the usual error body: see refuseRequest.
    requireHostHeader: false,
  };
  const handle = getRequestListener(fetch);
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    if (!refuseRequest(request, response)) void handle(request, response);
  };
  const server = createServer(serverOptions, respond);
  server.on("checkExpectation", respond);
  server.on("connect", refuseConnect);
  server.maxConnections = limits.maxConnections;
  limitConnectionsPerAddress(server, limits);
  server.setTimeout(limits.stalledSeconds * 1000);
  const pending = new WeakMap<object, ServerResponse>();
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    pending.set(request.socket, response);
  });
  server.on("clientError", (error, socket) => respondToClientError(error, socket, pending.get(socket)));
  return server;
}

async function announceClose(server: Server, delayMs: number): Promise<void> {
  server.prependListener("request", (_request: unknown, response: ServerResponse) => {
    response.setHeader("Connection", "close");
  });
  await sleep(delayMs);
}

async function drain(server: Server, deadlineMs: number): Promise<void> {
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
