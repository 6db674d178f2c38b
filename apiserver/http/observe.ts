import type { MiddlewareHandler } from "hono";
import type { Logger } from "../../shared/log.ts";
import { Counter, Histogram, type Registry } from "../../shared/metrics.ts";
import type { HttpEnv } from "./env.ts";
import { createId } from "./id.ts";
import { principalKey } from "./principal.ts";

const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * The outermost middleware: gives the request its id (the caller's, when it is well formed), the headers that every
 * answer has, one log line and the metrics by path pattern.
 */
export function observe(log: Logger, registry: Registry): MiddlewareHandler<HttpEnv> {
  const metrics = createHttpMetrics(registry);
  return async (c, next) => {
    const startedMs = performance.now();
    const sent = c.req.header("x-request-id");
    const requestId = sent !== undefined && REQUEST_ID_PATTERN.test(sent) ? sent : createId();
    c.set("requestId", requestId);
    c.set("log", log.child({ requestId }));
    c.header("X-Request-Id", requestId);
    c.header("X-Content-Type-Options", "nosniff");
    c.header("Cache-Control", "private, no-cache");
    await next();
    const seconds = (performance.now() - startedMs) / 1000;
    const route = c.var.route ?? "unmatched";
    const labels = { method: c.req.method, route };
    metrics.requests.inc({ ...labels, status: String(c.res.status) });
    metrics.seconds.observe(labels, seconds);
    const principal = c.var.visitor?.principal;
    const level = principal === undefined && c.res.status < 400 ? "debug" : "info";
    c.var.log[level](
      {
        method: c.req.method,
        route,
        path: c.req.path,
        status: c.res.status,
        ms: Math.round(seconds * 1000),
        principal: principal === undefined ? undefined : principalKey(principal),
      },
      "request",
    );
  };
}

function createHttpMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter({
      name: "marina_apiserver_http_requests_total",
      help: "Answered requests",
      labelNames: ["method", "route", "status"],
      registers,
    }),
    seconds: new Histogram({
      name: "marina_apiserver_http_request_duration_seconds",
      help: "Time until the answer began",
      labelNames: ["method", "route"],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
  };
}
