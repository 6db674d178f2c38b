import { randomUUID } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import type { Logger } from "../../../shared/program/log.ts";
import { Counter, Histogram, type Registry } from "../../../shared/program/metrics.ts";
import { truncateText } from "../../../shared/program/wording.ts";
import { principalKey } from "../authentication/principal.ts";
import type { HttpEnv } from "../env.ts";

/** The headers of every response. Browsers ignore Strict-Transport-Security over plain HTTP (RFC 6797 section 8.1). */
export const SECURITY_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
  "Content-Security-Policy": "frame-ancestors 'none'",
} as const;

/** The most characters of a path in the log: a URL may have 16 KB, without a credential too. */
const MAX_LOGGED_PATH = 1024;

const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * The outermost middleware: gives the request an id, which no client can choose, keeps beside it the one that the
 * client sent if it is well formed, sets the source address and the headers of every response; writes one log line, and
 * counts by path pattern.
 */
export function observe(
  log: Logger,
  registry: Registry,
  findSource: (c: Context<HttpEnv>) => string | undefined = () => undefined,
): MiddlewareHandler<HttpEnv> {
  const metrics = createHttpMetrics(registry);
  return async (c, next) => {
    const startedMs = performance.now();
    const requestId = randomUUID();
    const clientRequestId = findClientRequestId(c);
    c.set("requestId", requestId);
    c.set("clientRequestId", clientRequestId);
    c.set("log", log);
    c.set("sourceAddress", findSource(c));
    c.header("X-Request-Id", requestId);
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value);
    c.header("Cache-Control", "private, no-cache");
    await next();
    const seconds = (performance.now() - startedMs) / 1000;
    const { method, path } = c.req;
    const { status } = c.res;
    const route = c.get("route") ?? "unmatched";
    metrics.requests.inc({ method, route, status });
    metrics.seconds.observe({ method, route }, seconds);
    const principal = c.get("principal");
    const caller = principal === undefined ? undefined : principalKey(principal);
    const fields = {
      requestId,
      clientRequestId,
      method,
      route,
      path: path.length > MAX_LOGGED_PATH ? `${truncateText(path, MAX_LOGGED_PATH)}… (cut)` : path,
      status,
      ms: Math.round(seconds * 1000),
      principal: caller,
    };
    log[caller === undefined && status < 400 ? "debug" : "info"](fields, "request");
  };
}

function findClientRequestId(c: Context<HttpEnv>): string | undefined {
  const sent = c.req.header("x-request-id");
  return sent !== undefined && REQUEST_ID_PATTERN.test(sent) ? sent : undefined;
}

function createHttpMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter({
      name: "marina_apiserver_http_requests_total",
      help: "Requests by method, route and status of the response",
      labelNames: ["method", "route", "status"],
      registers,
    }),
    seconds: new Histogram({
      name: "marina_apiserver_http_request_duration_seconds",
      help: "Time until the response began",
      labelNames: ["method", "route"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
  };
}
