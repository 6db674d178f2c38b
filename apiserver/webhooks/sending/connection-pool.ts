import { Agent, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import { createSecureContext, rootCertificates } from "node:tls";

export interface ConnectionPoolOptions {
  /** Certificates in PEM of authorities that are trusted besides the public ones. */
  caBundle?: string | undefined;
  /** How long an idle connection is kept, in milliseconds; a server's `Keep-Alive: timeout` may shorten it. */
  idleTimeoutMs?: number;
  /** Over all origins; the one that is idle for longest makes room. */
  maxIdleConnections?: number;
  /** After its first request a connection is kept for this long, so that a name that has moved is followed. */
  maxAgeMs?: number;
}

const IDLE_TIMEOUT_MS = 10_000;
const MAX_IDLE_CONNECTIONS = 512;
const MAX_AGE_MS = 300_000;

/**
 * Connections that are kept for the next request to the same host and port. Those in use are not bounded, for a slow
 * endpoint must not make another one of its origin wait: the caller bounds what it sends at once.
 */
export class ConnectionPool extends Agent {
  readonly #maxIdleConnections: number;
  readonly #maxAgeMs: number;
  readonly #idle = new Set<Duplex>();
  readonly #firstIdleAt = new WeakMap<Duplex, number>();

  constructor(options: ConnectionPoolOptions = {}) {
    const { caBundle, idleTimeoutMs = IDLE_TIMEOUT_MS } = options;
    const ca = caBundle === undefined ? undefined : [...rootCertificates, caBundle];
    // One context for all connections: parsing the certificates takes longer than a handshake.
    const secureContext = createSecureContext({ ca });
    // Named to the server: one that speaks HTTP/2 alone refuses at once instead of waiting.
    super({
      keepAlive: true,
      // Bounded over all origins below: Node's own bound, 256 for each, closes those that the next attempts need.
      maxFreeSockets: Number.POSITIVE_INFINITY,
      timeout: idleTimeoutMs,
      secureContext,
      ALPNProtocols: ["http/1.1"],
    });
    this.#maxIdleConnections = options.maxIdleConnections ?? MAX_IDLE_CONNECTIONS;
    this.#maxAgeMs = options.maxAgeMs ?? MAX_AGE_MS;
  }

  /** Of all options these alone differ between requests; Node's own method joins them all. */
  override getName({ host, port }: RequestOptions = {}): string {
    return `${host}:${port}`;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const firstIdleAt = this.#firstIdleAt.get(socket);
    if (firstIdleAt === undefined) {
      this.#firstIdleAt.set(socket, performance.now());
      socket.once("close", () => this.#idle.delete(socket));
    } else if (performance.now() - firstIdleAt > this.#maxAgeMs) return false;
    // Node's own method answers whether the server wants to keep it; its type says void.
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
