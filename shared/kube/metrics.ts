import { Counter, Gauge, Histogram, type Registry } from "../program/metrics.ts";
import type { ReflectorMetrics } from "./reflector.ts";
import type { RequestInfo } from "./transport.ts";

export interface KubeMetrics extends ReflectorMetrics {
  /** For the transport's `onRequest`. */
  onRequest: (info: RequestInfo) => void;
}

/**
 * `<prefix>_kube_requests_total{method,kind,status}`, `<prefix>_kube_request_duration_seconds{method,kind}`,
 * `<prefix>_watch_restarts_total{kind,reason}` and `<prefix>_cache_objects{kind}`. `kind` is the plural; status "0"
 * is a request without a response. The duration of a watch is the time to its headers.
 */
export function createKubeMetrics(registry: Registry, prefix: string): KubeMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: `${prefix}_kube_requests_total`,
    help: "Requests to Kubernetes API servers, including retries.",
    labelNames: ["method", "kind", "status"],
    registers,
  });
  const seconds = new Histogram({
    name: `${prefix}_kube_request_duration_seconds`,
    help: "Time until a Kubernetes API server began its response.",
    labelNames: ["method", "kind"],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 30],
    registers,
  });
  const restarts = new Counter({
    name: `${prefix}_watch_restarts_total`,
    help: "Watches that failed and were restarted.",
    labelNames: ["kind", "reason"],
    registers,
  });
  const objects = new Gauge({
    name: `${prefix}_cache_objects`,
    help: "Objects in a watch cache.",
    labelNames: ["kind"],
    registers,
  });
  return {
    onRequest(info) {
      requests.inc({ method: info.method, kind: info.kindPlural, status: String(info.status) });
      seconds.observe({ method: info.method, kind: info.kindPlural }, info.seconds);
    },
    onRestart: (kind, reason) => restarts.inc({ kind, reason }),
    onSize: (kind, size) => objects.set({ kind }, size),
  };
}
