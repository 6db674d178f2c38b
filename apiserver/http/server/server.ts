import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import type { RequestLimits } from "../limits.ts";
import { toAddressKey } from "../rate-limits/rate-limit.ts";
import {
  isTimeout,
  refuseConnect,
  refuseRequest,
  respondToClientError,
  serverStalled,
} from "./client-error.ts";
import { createProxyCheck, normalizeAddress } from "./source-address.ts";

type FetchHandler = Parameters<typeof getRequestListener>[0];

/** Above the 60 s after which common load balancers drop an idle connection, so that they are the first to. */
const IDLE_MS = 65_000;
/** How often connections are checked against their deadlines; each may overrun by this much. */
const TIMEOUT_CHECK_MS = 1000;
const IDLE_SWEEP_MS = 100;
/** Thousands of streams reconnect at once after a restart; beyond Node's 511 their connections would be dropped. */
const ACCEPT_BACKLOG = 4096;

export interface RunningServer {
  /** The bound address, `http://address:port`. */
  address: string;
  /**
   * Serves for the shutdown delay, and asks in every response that its connection be closed: a client that sends into a
   * connection which is being closed sees its request fail (RFC 9112, section 9.6).
   */
  announceClose(): Promise<void>;
  /** Accepts no new connection, lets requests in progress complete, and closes the rest at the deadline. */
  drain(deadlineMs: number): Promise<void>;
}

/** Serves a fetch handler over HTTP/1.1. Rejects when the address cannot be bound. */
export async function listen(
  fetch: FetchHandler,
  options: { address: string; port: number; limits: RequestLimits; shutdownDelayMs: number },
): Promise<RunningServer> {
  const { shutdownDelayMs } = options;
  const server = createHttpServer(fetch, options.limits, toAnnouncedMs(shutdownDelayMs));
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
    async announceClose() {
      server.prependListener("request", (_request: IncomingMessage, response: ServerResponse) => {
        response.setHeader("Connection", "close");
      });
      await sleep(shutdownDelayMs);
    },
    drain: (deadlineMs) => drain(server, deadlineMs),
  };
}

/** A server with deadlines against slow and silent clients. `announcedMs` is what the header Keep-Alive says. */
function createHttpServer(fetch: FetchHandler, limits: RequestLimits, announcedMs: number): Server {
  const serverOptions = {
    keepAliveTimeout: announcedMs,
    keepAliveTimeoutBuffer: IDLE_MS - announcedMs,
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
  respondToClientErrors(server, limits.requestSeconds * 1000);
  return server;
}

/**
 * Responds to bytes that are no request, and to requests that do not arrive in time. One whose time was over while this
 * process stood still gets it anew, once: its bytes may have come and wait to be read. Then it is 503, for clients to
 * repeat.
 */
function respondToClientErrors(server: Server, requestMs: number): void {
  const stalls = watchStalls();
  server.once("close", () => stalls.stop());
  const pending = new WeakMap<object, ServerResponse>();
  /** Requests that are given their time anew, by connection; undefined while the headers are missing. */
  const late = new WeakMap<object, { request: IncomingMessage | undefined }>();
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    pending.set(request.socket, response);
    const awaited = late.get(request.socket);
    if (awaited !== undefined) awaited.request ??= request;
  });

  function refuse(error: Error, socket: Duplex): void {
    const response = pending.get(socket);
    if (!isTimeout(error) || !stalls.hasStalled(requestMs)) {
      respondToClientError(error, socket, response);
      return;
    }
    const awaited = { request: response?.req.complete === false ? response.req : undefined };
    late.set(socket, awaited);
    const timer = setTimeout(() => {
      late.delete(socket);
      if (awaited.request?.complete !== true)
        respondToClientError(serverStalled(), socket, pending.get(socket));
    }, requestMs);
    socket.once("close", () => clearTimeout(timer));
  }
  server.on("clientError", refuse);
}

/**
 * How long clients are asked to keep an idle connection: less than the shutdown delay, if there is one. One that is idle
 * during the whole delay gets no `Connection: close`, and a request that is being sent when it closes fails.
 */
function toAnnouncedMs(shutdownDelayMs: number): number {
  if (shutdownDelayMs === 0) return IDLE_MS;
  return Math.max(1, Math.floor(shutdownDelayMs / 1000) - 1) * 1000;
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

/**
 * Closes connections of one address (an IPv6 /64) beyond `maxConnectionsPerAddress`, without a response. A trusted
 * proxy has any number, since it carries the connections of everyone.
 */
function limitConnectionsPerAddress(
  server: Server,
  limits: Pick<RequestLimits, "maxConnectionsPerAddress" | "trustedProxies">,
): void {
  const isTrusted = createProxyCheck(limits.trustedProxies);
  const openByAddress = new Map<string, number>();
  server.prependListener("connection", (socket: Socket) => {
    // A socket that its peer has closed already has no address, and needs no count.
    if (socket.remoteAddress === undefined) return;
    const address = normalizeAddress(socket.remoteAddress);
    if (isTrusted(address)) return;
    const key = toAddressKey(address);
    const open = openByAddress.get(key) ?? 0;
    if (open >= limits.maxConnectionsPerAddress) {
      socket.destroy();
      return;
    }
    openByAddress.set(key, open + 1);
    socket.once("close", () => {
      const others = (openByAddress.get(key) ?? 1) - 1;
      if (others === 0) openByAddress.delete(key);
      else openByAddress.set(key, others);
    });
  });
}

/** How often the event loop is checked; a check that is late by more than that is a stall. */
const TICK_MS = 250;

interface StallWatch {
  /** Whether the event loop stood still at some time within the last `ms`. */
  hasStalled(ms: number): boolean;
  stop(): void;
}

/** Notices when this process stands still, so that its clients are not blamed for the time in which it read nothing. */
function watchStalls(nowMs: () => number = () => performance.now()): StallWatch {
  let tickedMs = nowMs();
  let stalledMs = Number.NEGATIVE_INFINITY;
  const tick = () => {
    if (nowMs() - tickedMs > 2 * TICK_MS) stalledMs = nowMs();
    tickedMs = nowMs();
  };
  const timer = setInterval(tick, TICK_MS).unref();
  return {
    hasStalled(ms) {
      // Among the timers that are due after a stall, this one may be the last.
      tick();
      return nowMs() - stalledMs <= ms;
    },
    stop: () => clearInterval(timer),
  };
}
