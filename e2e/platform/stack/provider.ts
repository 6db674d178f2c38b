import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLUSTER_CLASS_FILE, CLUSTER_CLASS_NAME } from "../local-provider/program.ts";
import { StartError } from "../programs/start-error.ts";
import { CAPI_MANAGERS, type CapiManager } from "./cluster-api-manifests.ts";
import { LOCAL_PROVIDER_PORTS } from "./local-provider.ts";
import type { ToolName } from "./tools.ts";

/**
 * What tenant clusters run on. `local`: a real kube-apiserver, controller manager, scheduler and kwok nodes each.
 * `in-memory`: Cluster API's own simulation, for hundreds of clusters.
 */
export const PROVIDER_NAMES = ["local", "in-memory"] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];
export const DEFAULT_PROVIDER: ProviderName = "local";

export interface ProviderSettings {
  /** Programs in addition to those of every stack, in the order in which they are needed. */
  tools: readonly ToolName[];
  managers: readonly CapiManager[];
  /** Feature gates of Cluster API's core manager. */
  coreGates: readonly string[];
  ports: readonly string[];
  /** The manifests of the class that every plan uses, and the class's name. */
  classFile: string;
  className: string;
  /** Steps that the class waits for, in addition to the webhooks. */
  classAfter: readonly string[];
}

export const PROVIDER_SETTINGS: Record<ProviderName, ProviderSettings> = {
  local: {
    tools: ["capi-core", "kube-controller-manager", "kube-scheduler", "kwok"],
    managers: ["capi-core"],
    // Otherwise it reconciles an object once a second at most, which is two thirds of the time to create a small
    // cluster.
    coreGates: ["ReconcilerRateLimiting=false"],
    ports: LOCAL_PROVIDER_PORTS,
    classFile: CLUSTER_CLASS_FILE,
    className: CLUSTER_CLASS_NAME,
    classAfter: ["local-provider CRDs"],
  },
  "in-memory": {
    tools: [...CAPI_MANAGERS, "kube-controller-manager"],
    managers: CAPI_MANAGERS,
    coreGates: [],
    ports: [],
    classFile: join(import.meta.dirname, "cluster-class.yaml"),
    className: "marina-in-memory-v1",
    classAfter: [],
  },
};

export function isProviderName(text: string): text is ProviderName {
  return (PROVIDER_NAMES as readonly string[]).includes(text);
}

/** Throws a StartError for a run directory whose clusters belong to another provider, which would not be running. */
export function requireSameProvider(dir: string, provider: ProviderName): void {
  const file = join(dir, "provider");
  const kept = existsSync(file) ? readFileSync(file, "utf8") : provider;
  if (kept !== provider) {
    throw new StartError(
      `The clusters in ${dir} were created with --provider=${kept}: start with that, or with --fresh to forget them.`,
    );
  }
  writeFileSync(file, provider);
}
