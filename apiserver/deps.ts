import type { KubeClient } from "../shared/kube/client.ts";
import type { KubeMetrics } from "../shared/kube/metrics.ts";
import type { KeyedSlots } from "../shared/program/limits.ts";
import type { Logger } from "../shared/program/log.ts";
import type { Registry } from "../shared/program/metrics.ts";
import type { Config } from "./config.ts";
import type { Database, Sql } from "./db/client.ts";

/** The dependencies of a slice; created once in main.ts and passed in. */
export interface Deps {
  config: Config;
  log: Logger;
  /** The current time. */
  now: () => Date;
  /** Drizzle over the pool of requests; in background loops over their own. A handler's takes the share of its tenant. */
  db: Database;
  /** Over a pool of its own, for reads of what a caller may do. */
  rightsDb: Database;
  /** Over another pool, plain tagged queries: advisory locks, LISTEN, slow jobs. */
  sql: Sql;
  /** A handler's takes the share of its tenant, and the calls of a read or dry run end with the request. */
  kube: KubeClient;
  /** One writer of a custom resource at a time in this process, by kind, namespace and name. */
  writeLocks: KeyedSlots;
  /** The registry of /metrics. */
  metrics: Registry;
  /** For the reflectors. */
  kubeMetrics: KubeMetrics;
  /** Aborts when this process begins to drain: streams end, and clients reconnect to other replicas. */
  draining: AbortSignal;
}
