import { createServer, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../program/log.ts";
import type { Registry } from "../program/metrics.ts";

/** Checks by name; false, an error, or no result within two seconds is a failure. */
export type Checks = Record<string, () => boolean | Promise<boolean>>;

export interface HealthServerOptions {
  address: string;
  /** 0: any free port. */
  port: number;
  registry: Registry;
  /** A failure means that only a restart helps. */
  healthz: Checks;
  /** A failure means that this process cannot do its work now. */
  readyz: Checks;
  log: Logger;
  /** A clock that only goes forward, in milliseconds; default: `performance.now`. */
  nowMs?: () => number;
}

const CHECK_DEADLINE_MS = 2000;
/** However often the pages are read, the checks run once in this time. A failure is over soon: each start begins with one. */
const RESULTS_KEPT_MS = { passed: 1000, failed: 100 };

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Listens for GET /metrics, /healthz and /readyz. A health page is 200 or 503, with one line per check as in the
 * Kubernetes API server: "[+]name ok" or "[-]name failed", as it was a second ago at most; while one fails, 100 ms ago.
 * Rejects when the port is not available.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { nowMs = () => performance.now() } = options;
  const pages: Pages = {
    registry: options.registry,
    healthz: keepResults(options.healthz, nowMs),
    readyz: keepResults(options.readyz, nowMs),
  };
  const server = createServer((request, response) => {
    respond(pages, request.method, request.url, response).catch((error: unknown) => {
      options.log.error({ err: error }, "a health or metrics page failed");
      send(response, 500, "internal error\n");
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.address, resolve);
  });
  return { port: portOf(server), close: () => close(server) };
}

interface Result {
  name: string;
  ok: boolean;
}

interface Pages {
  registry: Registry;
  healthz: () => Promise<Result[]>;
  readyz: () => Promise<Result[]>;
}

async function respond(
  pages: Pages,
  method: string | undefined,
  url: string | undefined,
  response: ServerResponse,
): Promise<void> {
  if (method !== "GET" && method !== "HEAD") return send(response, 405, "method not allowed\n");
  switch (url?.split("?")[0]) {
    case "/metrics":
      return send(response, 200, await pages.registry.metrics(), pages.registry.contentType);
    case "/healthz":
      return sendResults(response, await pages.healthz());
    case "/readyz":
      return sendResults(response, await pages.readyz());
    default:
      return send(response, 404, "not found\n");
  }
}

/** Runs the checks, and gives the results to everyone who asks meanwhile and for a second after. */
function keepResults(checks: Checks, nowMs: () => number): () => Promise<Result[]> {
  let kept: Promise<Result[]> | undefined;
  let keptUntilMs = 0;
  return () => {
    if (kept === undefined || nowMs() >= keptUntilMs) {
      keptUntilMs = Infinity;
      kept = runChecks(checks).then((results) => {
        keptUntilMs = nowMs() + RESULTS_KEPT_MS[results.every(({ ok }) => ok) ? "passed" : "failed"];
        return results;
      });
    }
    return kept;
  };
}

function runChecks(checks: Checks): Promise<Result[]> {
  return Promise.all(Object.entries(checks).map(async ([name, check]) => ({ name, ok: await isOk(check) })));
}

function sendResults(response: ServerResponse, results: readonly Result[]): void {
  const lines = results.map(({ name, ok }) => (ok ? `[+]${name} ok\n` : `[-]${name} failed\n`));
  send(response, results.every(({ ok }) => ok) ? 200 : 503, lines.join(""));
}

async function isOk(check: Checks[string]): Promise<boolean> {
  try {
    return await Promise.race([check(), sleep(CHECK_DEADLINE_MS, false, { ref: false })]);
  } catch {
    return false; // The response names the check that failed; its component logs why.
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  contentType = "text/plain; charset=utf-8",
) {
  response.writeHead(status, { "content-type": contentType }).end(body);
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    server.closeAllConnections();
  });
}
