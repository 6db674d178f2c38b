import { Agent, type RequestOptions } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, rootCertificates } from "node:tls";
import type { AddressGuard } from "./address-guard.ts";
import { hostOf } from "./endpoint-url.ts";
import { AttemptError, classifyError, type FailureClass } from "./error-class.ts";
import { type ExchangeOptions, exchange, type ReceivedResponse, StaleConnectionError } from "./exchange.ts";
import type { Resolver } from "./resolver.ts";

interface ConnectionPoolOptions {
  /** Certificates in PEM of authorities that are trusted besides the public ones. */
  caBundle?: string | undefined;
  /** How long an idle connection is kept, in milliseconds; a server's `Keep-Alive: timeout` may shorten it. */
  idleTimeoutMs?: number;
  /** Over all origins; the one that is idle for longest makes room. */
  maxIdleConnections?: number;
  /** After its first request a connection is kept for this long, so that a changed DNS record is noticed. */
  maxAgeMs?: number;
}

const IDLE_TIMEOUT_MS = 10_000;

const MAX_IDLE_CONNECTIONS = 512;

const MAX_AGE_MS = 300_000;

/**
 * Connections that are kept for the next request to the same host and port. Those in use are not bounded, for a slow
 * endpoint must not make another one of its origin wait: the caller bounds what it sends at once.
 */
class ConnectionPool extends Agent {
  readonly #maxIdleConnections: number;
  readonly #maxAgeMs: number;
  readonly #idle = new Set<Duplex>();
  readonly #firstIdleAt = new WeakMap<Duplex, number>();

  constructor(options: ConnectionPoolOptions = {}) {
    const { caBundle, idleTimeoutMs = IDLE_TIMEOUT_MS } = options;
    const ca = caBundle === undefined ? undefined : [...rootCertificates, caBundle];
    // One context for all connections: parsing the certificates takes longer than a handshake.
    const secureContext = createSecureContext({ ca });
    super({
      keepAlive: true,
      // Bounded over all origins below: Node's own bound, 256 for each, closes those that the next attempts need.
      maxFreeSockets: Number.POSITIVE_INFINITY,
      timeout: idleTimeoutMs,
      secureContext,
      // ALPN: a server with HTTP/2 alone refuses at once instead of waiting.
      ALPNProtocols: ["http/1.1"],
    });
    this.#maxIdleConnections = options.maxIdleConnections ?? MAX_IDLE_CONNECTIONS;
    this.#maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS;
  }

  /** The pool key. Only these options differ between requests; Node's own method joins all of them. */
  override getName({ host, port }: RequestOptions = {}): string {
    return `${host}:${port}`;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const firstIdleAt = this.#firstIdleAt.get(socket);
    if (firstIdleAt === undefined) {
      this.#firstIdleAt.set(socket, performance.now());
      socket.once("close", () => this.#idle.delete(socket));
    } else if (performance.now() - firstIdleAt > this.#maxAgeMs) return false;
    // Node's own method returns whether the server wants to keep it; its type says void.
    if ((super.keepSocketAlive(socket) as unknown) === false) return false;
    this.#idle.add(socket);
    const [oldest] = this.#idle;
    if (oldest !== undefined && this.#idle.size > this.#maxIdleConnections) {
      this.#idle.delete(oldest);
      oldest.destroy();
    }
    return true;
  }

  override reuseSocket(socket: Duplex, request: Parameters<Agent["reuseSocket"]>[1]): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }
}

export interface SenderOptions extends ConnectionPoolOptions {
  guard: AddressGuard;
  resolver: Resolver;
  /** For the whole attempt: name, connection, request and response. */
  timeoutMs?: number;
  /** How much of a response's body is read. */
  maxBodyBytes?: number;
}

/** One attempt of a delivery, as it is sent. */
export interface SignedRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The exact bytes that are sent; of text those in UTF-8. */
  body: Uint8Array | string;
  /** Ends the attempt; `send` rejects with its reason unless a status has arrived. */
  signal?: AbortSignal;
}

/** A response of the endpoint; `errorClass` is absent for 2xx alone. */
export interface EndpointResponse {
  errorClass?: "status";
  status: number;
  /** By lower-case name; repeated ones joined by a comma. */
  responseHeaders: Record<string, string>;
  /** The beginning of the body, read as UTF-8; U+0000, which PostgreSQL does not store, is U+FFFD. */
  responseBody: string;
  durationMs: number;
}

/** No response arrived. */
export interface RequestFailure {
  errorClass: FailureClass;
  /** For the tenant. */
  message: string;
  durationMs: number;
}

export interface Sender {
  /**
   * Makes one attempt. Rejects only for a fault of this side, which says nothing about the endpoint, as too many open
   * files, and with the reason of the signal.
   */
  send(request: SignedRequest): Promise<EndpointResponse | RequestFailure>;
  /** Closes all connections. */
  close(): void;
}

const TIMEOUT_MS = 15_000;
const MAX_BODY_BYTES = 16 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;

/** How long one of several addresses may take to connect before the next one is tried. */
const ADDRESS_TIMEOUT_MS = 1000;

/**
 * Creates what sends webhooks, by POST and HTTP/1.1 over TLS; no redirect is followed, no body decompressed. At every
 * new connection all addresses of the URL's host are checked, one that is refused refuses them all, and only a checked
 * one is connected to. A changed DNS record is noticed after `maxAgeMs` at the latest, by the next connection.
 */
export function createWebhookSender(options: SenderOptions): Sender {
  const { guard, resolver, timeoutMs = TIMEOUT_MS, maxBodyBytes = MAX_BODY_BYTES } = options;
  const pool = new ConnectionPool(options);
  const lookup = createCheckedLookup(guard, resolver);
  return {
    async send({ url: text, headers, body, signal }) {
      const startedAt = performance.now();
      const durationMs = () => Math.round(performance.now() - startedAt);
      try {
        signal?.throwIfAborted();
        const url = new URL(text);
        requireAllowedLiteral(hostOf(url), guard);
        const length = String(Buffer.byteLength(body));
        const request = {
          protocol: url.protocol,
          host: hostOf(url),
          port: url.port,
          path: url.pathname + url.search,
          method: "POST",
          headers: { ...headers, "accept-encoding": "identity", "content-length": length },
          agent: pool,
          lookup,
          autoSelectFamily: true,
          autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
          maxHeaderSize: MAX_HEADER_BYTES,
        };
        const limits = { body, deadline: startedAt + timeoutMs, maxBodyBytes, signal };
        return {
          ...toEndpointResponse(await exchangeOnOpenConnection(request, limits)),
          durationMs: durationMs(),
        };
      } catch (error) {
        const errorClass = classifyError(error);
        if (errorClass === undefined) throw error;
        return { errorClass, message: describe(error), durationMs: durationMs() };
      }
    },
    close: () => pool.destroy(),
  };
}

/**
 * Replaces a kept connection that the server has closed meanwhile by another. The recursion ends: each of them has left
 * the pool, and there is a deadline.
 */
async function exchangeOnOpenConnection(
  request: Parameters<typeof exchange>[0],
  limits: ExchangeOptions,
): Promise<ReceivedResponse> {
  try {
    return await exchange(request, limits);
  } catch (error) {
    if (error instanceof StaleConnectionError) return exchangeOnOpenConnection(request, limits);
    throw error;
  }
}

/** The DNS lookup of new connections; Node calls it for names, not for addresses. */
function createCheckedLookup(guard: AddressGuard, resolver: Resolver): LookupFunction {
  const find = async (name: string) => {
    const addresses = await resolver.resolve(name);
    // The message does not name the address, for an internal DNS server may know names that tenants must not look up.
    if (!addresses.every((address) => guard.isAllowed(address)))
      throw refuse("the name resolves to a private or internal address");
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (name, _options, callback) => {
    find(name).then(
      (addresses) => callback(null, addresses),
      (error: Error) => callback(error, []),
    );
  };
}

function requireAllowedLiteral(host: string, guard: AddressGuard): void {
  if (isIP(host) !== 0 && !guard.isAllowed(host)) throw refuse("the host is a private or internal address");
}

function refuse(message: string): AttemptError {
  return new AttemptError("blocked_address", message);
}

/** A character that the cut divides is left out. */
function toText(body: Buffer): string {
  return new TextDecoder().decode(body, { stream: true }).replaceAll("\0", "\uFFFD");
}

function toEndpointResponse({
  status,
  headers,
  body,
}: ReceivedResponse): Omit<EndpointResponse, "durationMs"> {
  const responseHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value = ""]) => [
      name,
      typeof value === "string" ? value : value.join(", "),
    ]),
  );
  const responseBody = body.length === 0 ? "" : toText(body);
  const response = { status, responseHeaders, responseBody };
  return status >= 200 && status < 300 ? response : { errorClass: "status", ...response };
}

/** Describes the first error when several addresses failed, and only the reason in OpenSSL's text. */
function describe(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  const { message, reason, code } = first as NodeJS.ErrnoException & { reason?: string };
  if (code === "ECONNRESET" || code === "EPIPE") return "the server closed the connection without a response";
  return reason ?? /SSL routines:[^:]*:([^:]+)/.exec(message)?.[1] ?? message;
}
