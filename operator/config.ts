import { z } from "zod";
import { findOverlap, networksSchema } from "../shared/crd/cluster-network.ts";
import { NO_OTHER_LABEL } from "../shared/crd/node-metadata.ts";
import {
  BYTES_PER_GIB,
  DEFAULT_STORAGE_QUOTA_GB,
  MAX_STORAGE_QUOTA_GB,
  MIN_STORAGE_QUOTA_GB,
} from "../shared/crd/storage-inventory.ts";
import { isProtectedUrl, jsonText, parseEnvironment } from "../shared/program/config.ts";
import type { AutoscalerPod } from "./autoscaler/children.ts";
import type { AutoscalerSettings } from "./autoscaler/reconcile.ts";
import type { ClusterSettings } from "./cluster/observe.ts";
import type { PoolSettings } from "./node-pool/observe.ts";
import type { StorageSettings } from "./shared-storage/controller.ts";
import { formatRange, parseSubnetRange } from "./subnets/range.ts";

const planSchema = z.strictObject({
  class: z.string().min(1),
  namespace: z.string().min(1),
  controlPlaneReplicas: z.literal([1, 3, 5]),
  credentials: z.array(z.string().min(1)).optional(),
});

/** An object of Kubernetes, which checks it where a Pod has it. */
const kubernetesObject = <T>() =>
  z.custom<T>((value) => z.looseObject({}).safeParse(value).success, { error: "must be an object" });

const autoscalerPodSchema = z.strictObject({
  podSecurityContext: kubernetesObject<Required<AutoscalerPod>["podSecurityContext"]>().exactOptional(),
  containerSecurityContext:
    kubernetesObject<Required<AutoscalerPod>["containerSecurityContext"]>().exactOptional(),
  resources: kubernetesObject<Required<AutoscalerPod>["resources"]>().exactOptional(),
  nodeSelector: z.record(z.string(), z.string()).exactOptional(),
  tolerations: z.array(kubernetesObject<Required<AutoscalerPod>["tolerations"][number]>()).exactOptional(),
  affinity: kubernetesObject<Required<AutoscalerPod>["affinity"]>().exactOptional(),
  priorityClassName: z.string().min(1).exactOptional(),
});

const seconds = (fallback: number) => z.coerce.number().int().min(1).max(86_400).default(fallback);

const REQUIRED_BY_DRIVER = {
  none: [],
  directory: ["MARINA_STORAGE_DIRECTORY"],
  ceph: ["MARINA_CEPH_URL", "MARINA_CEPH_PASSWORD_FILE"],
} as const;

export const environmentSchema = z
  .object({
    KUBECONFIG: z.string().optional(),
    MARINA_LISTEN_ADDRESS: z.string().min(1).default("0.0.0.0"),
    MARINA_METRICS_PORT: z.coerce.number().int().min(0).max(65_535).default(8081),
    MARINA_PLATFORM_NAMESPACE: z.string().min(1).default("marina-system"),
    MARINA_APISERVER_SERVICE_ACCOUNT: z.string().min(1).default("marina-apiserver"),
    MARINA_PLANS: jsonText(
      z.record(z.string(), planSchema).refine((plans) => "default" in plans, "must have an entry `default`"),
    ),
    MARINA_CLUSTER_AUTOSCALER_IMAGE: z.string().min(1).optional(),
    MARINA_CLUSTER_AUTOSCALER_POD: jsonText(autoscalerPodSchema).optional(),
    MARINA_ARGO_CD_NAMESPACE: z.string().min(1).optional(),
    MARINA_SUBNET_RANGE: z.string().default("10.64.0.0/10").transform(toSubnetRange),
    MARINA_PLATFORM_CIDRS: z
      .string()
      .default("")
      .transform((text) => text.split(",").map((cidr) => cidr.trim()))
      .transform((cidrs) => cidrs.filter((cidr) => cidr !== ""))
      .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()]))),
    MARINA_POD_CIDRS: networks("192.168.0.0/16"),
    MARINA_SERVICE_CIDRS: networks("10.128.0.0/12"),
    MARINA_DRAIN_TIMEOUT_SECONDS: seconds(600),
    MARINA_VOLUME_DETACH_TIMEOUT_SECONDS: seconds(60),
    MARINA_NODE_DELETION_TIMEOUT_SECONDS: seconds(10),
    MARINA_SCALE_DOWN_DELAY_SECONDS: seconds(600),
    MARINA_SCALE_DOWN_UTILIZATION_PERCENT: z.coerce.number().int().min(10).max(90).default(50),
    MARINA_DEGRADED_AFTER_SECONDS: seconds(60),
    MARINA_NODE_DEGRADED_AFTER_SECONDS: seconds(300),
    MARINA_REPORT_WAIT_AFTER_SECONDS: seconds(55),
    MARINA_SYNCED_NODE_LABELS: z.string().default("").transform(toExpression),
    MARINA_WORKERS_PER_KIND: z.coerce.number().int().min(1).max(200).default(10),
    MARINA_TENANT_WORKERS: z.coerce.number().int().min(1).max(2000).default(500),
    MARINA_TENANT_WORKERS_PER_NAMESPACE: z.coerce.number().int().min(1).max(100).default(10),
    MARINA_RESYNC_SECONDS: seconds(600),
    // With 10 s a leader attempts three times, every 2 s, to renew the Lease before it ends.
    MARINA_LEASE_DURATION_SECONDS: z.coerce.number().int().min(10).max(600).default(15),
    MARINA_STORAGE_DRIVER: z.enum(["none", "directory", "ceph"]).default("none"),
    MARINA_STORAGE_DIRECTORY: z.string().startsWith("/").optional(),
    MARINA_CEPH_URL: z.url().refine(isProtectedUrl, "must be https, or a loopback address").optional(),
    MARINA_CEPH_USERNAME: z.string().min(1).default("marina"),
    MARINA_CEPH_PASSWORD_FILE: z.string().min(1).optional(),
    MARINA_CEPH_POOL_PREFIX: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,60}$/)
      .default("marina-"),
    // Figures of more than 15 minutes are none to their readers.
    MARINA_STORAGE_INTERVAL_SECONDS: z.coerce.number().int().min(1).max(240).default(60),
    MARINA_DEFAULT_STORAGE_QUOTA_GB: z.coerce
      .number()
      .int()
      .min(MIN_STORAGE_QUOTA_GB)
      .max(MAX_STORAGE_QUOTA_GB)
      .default(DEFAULT_STORAGE_QUOTA_GB),
    MARINA_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).default("info"),
  })
  .superRefine((env, context) => {
    const { MARINA_STORAGE_DRIVER: driver } = env;
    for (const name of REQUIRED_BY_DRIVER[driver]) {
      if (env[name] !== undefined) continue;
      const message = `is required for the driver \`${driver}\``;
      context.addIssue({ code: "custom", path: [name], message });
    }
  })
  .superRefine((env, context) => {
    const { MARINA_POD_CIDRS: pods = [], MARINA_SERVICE_CIDRS: services = [] } = env;
    const nodes = formatRange(env.MARINA_SUBNET_RANGE);
    const [first] = [
      findOverlap({ pods, services }),
      findOverlap({ pods: [...pods, ...services], services: [nodes] }),
    ].filter((pair) => pair !== undefined);
    if (first === undefined) return;
    const message = `networks of pods, Services and nodes must not overlap, but ${first.join(" and ")} do`;
    context.addIssue({ code: "custom", path: ["MARINA_POD_CIDRS"], message });
  });

export interface Config {
  listenAddress: string;
  metricsPort: number;
  /** Absent in a Pod: then its ServiceAccount is used. */
  kubeconfigPath: string | undefined;
  /** The ServiceAccount, in the platform's namespace, that may read the admin kubeconfigs. */
  apiserverServiceAccount: string;
  /** Where cluster Secrets of Argo CD are written; undefined = nowhere. */
  argoCDNamespace: string | undefined;
  settings: ClusterSettings & AutoscalerSettings & PoolSettings;
  /** Absent where there is no shared storage: its inventories are left alone. */
  storage: StorageSettings | undefined;
  workersPerKind: number;
  /** Workers of each kind that connects to tenants' API servers, and how many of them may work for one organization. */
  tenantWorkers: number;
  tenantWorkersPerNamespace: number;
  /** Every object is reconciled again this often, give or take a tenth. */
  resyncSeconds: number;
  /** Another operator takes over when it has not seen the Lease renewed for this long. */
  leaseDurationSeconds: number;
  logLevel: string;
}

/** Reads the configuration from environment variables. Throws ConfigError with all faults at once. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const env = parseEnvironment(environmentSchema, environment);
  return {
    listenAddress: env.MARINA_LISTEN_ADDRESS,
    metricsPort: env.MARINA_METRICS_PORT,
    kubeconfigPath: env.KUBECONFIG,
    apiserverServiceAccount: env.MARINA_APISERVER_SERVICE_ACCOUNT,
    argoCDNamespace: env.MARINA_ARGO_CD_NAMESPACE,
    settings: {
      platformNamespace: env.MARINA_PLATFORM_NAMESPACE,
      servicePlans: env.MARINA_PLANS,
      subnetRange: env.MARINA_SUBNET_RANGE,
      platformCIDRs: env.MARINA_PLATFORM_CIDRS,
      clusterNetwork: { pods: env.MARINA_POD_CIDRS, services: env.MARINA_SERVICE_CIDRS },
      poolDefaults: {
        drainTimeoutSeconds: env.MARINA_DRAIN_TIMEOUT_SECONDS,
        volumeDetachTimeoutSeconds: env.MARINA_VOLUME_DETACH_TIMEOUT_SECONDS,
        nodeDeletionTimeoutSeconds: env.MARINA_NODE_DELETION_TIMEOUT_SECONDS,
        scaleDownDelaySeconds: env.MARINA_SCALE_DOWN_DELAY_SECONDS,
        scaleDownUtilizationPercent: env.MARINA_SCALE_DOWN_UTILIZATION_PERCENT,
      },
      degradedAfterSeconds: env.MARINA_DEGRADED_AFTER_SECONDS,
      autoscalerImage: env.MARINA_CLUSTER_AUTOSCALER_IMAGE,
      autoscalerPod: env.MARINA_CLUSTER_AUTOSCALER_POD,
      nodeDegradedAfterSeconds: env.MARINA_NODE_DEGRADED_AFTER_SECONDS,
      reportWaitAfterSeconds: env.MARINA_REPORT_WAIT_AFTER_SECONDS,
      syncedNodeLabels: env.MARINA_SYNCED_NODE_LABELS,
    },
    storage: readStorage(env),
    workersPerKind: env.MARINA_WORKERS_PER_KIND,
    tenantWorkers: env.MARINA_TENANT_WORKERS,
    tenantWorkersPerNamespace: env.MARINA_TENANT_WORKERS_PER_NAMESPACE,
    resyncSeconds: env.MARINA_RESYNC_SECONDS,
    leaseDurationSeconds: env.MARINA_LEASE_DURATION_SECONDS,
    logLevel: env.MARINA_LOG_LEVEL,
  };
}

function readStorage(env: z.output<typeof environmentSchema>): StorageSettings | undefined {
  if (env.MARINA_STORAGE_DRIVER === "none") return undefined;
  const connection = {
    url: env.MARINA_CEPH_URL ?? "",
    username: env.MARINA_CEPH_USERNAME,
    passwordFile: env.MARINA_CEPH_PASSWORD_FILE ?? "",
  };
  return {
    backend:
      env.MARINA_STORAGE_DRIVER === "directory"
        ? { kind: "directory", root: env.MARINA_STORAGE_DIRECTORY ?? "" }
        : { kind: "ceph", connection, poolPrefix: env.MARINA_CEPH_POOL_PREFIX },
    defaultQuotaBytes: env.MARINA_DEFAULT_STORAGE_QUOTA_GB * BYTES_PER_GIB,
    intervalSeconds: env.MARINA_STORAGE_INTERVAL_SECONDS,
  };
}

/** Separated by commas; empty = the cluster class decides. */
function networks(fallback: string) {
  return z
    .string()
    .default(fallback)
    .transform((text) => (text.trim() === "" ? undefined : text.split(",").map((cidr) => cidr.trim())))
    .pipe(networksSchema("").optional());
}

/** As Cluster API reads its own setting: anywhere in the key. Empty, as there by default: no further label. */
function toExpression(text: string, context: z.RefinementCtx) {
  if (text === "") return NO_OTHER_LABEL;
  try {
    return new RegExp(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
}

function toSubnetRange(text: string, context: z.RefinementCtx) {
  try {
    return parseSubnetRange(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
    return z.NEVER;
  }
}
