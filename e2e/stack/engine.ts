import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLUSTER_CLASS_FILE, CLUSTER_CLASS_NAME } from "../local-provider/program.ts";
import { StartError } from "../programs/start-error.ts";
import { ENGINE_MANAGERS, type EngineManager } from "./cluster-api-manifests.ts";
import { LOCAL_PROVIDER_PORTS } from "./local-provider.ts";
import type { ToolName } from "./tools.ts";

/**
 * What tenant clusters run on. `local`: a real kube-apiserver, controller manager, scheduler and kwok nodes each.
 * `in-memory`: Cluster API's own simulation, for hundreds of clusters.
 */
export const ENGINES = ["local", "in-memory"] as const;
export type Engine = (typeof ENGINES)[number];
export const DEFAULT_ENGINE: Engine = "local";

export interface EngineSettings {
  /** Programs beside those of every stack, in the order in which they are needed. */
  tools: readonly ToolName[];
  managers: readonly EngineManager[];
  /** Feature gates of Cluster API's core manager. */
  coreGates: readonly string[];
  ports: readonly string[];
  /** The manifests of the class that every plan uses, and the class's name. */
  classFile: string;
  className: string;
  /** Steps that the class waits for, beside the webhooks. */
  classAfter: readonly string[];
}

export const ENGINE_SETTINGS: Record<Engine, EngineSettings> = {
  local: {
    tools: ["capi-core", "kube-controller-manager", "kube-scheduler", "kwok"],
    managers: ["capi-core"],
    // Otherwise it reconciles an object once a second at most, which is two thirds of the time to create a small cluster.
    coreGates: ["ReconcilerRateLimiting=false"],
    ports: LOCAL_PROVIDER_PORTS,
    classFile: CLUSTER_CLASS_FILE,
    className: CLUSTER_CLASS_NAME,
    classAfter: ["local-provider CRDs"],
  },
  "in-memory": {
    tools: [...ENGINE_MANAGERS, "kube-controller-manager"],
    managers: ENGINE_MANAGERS,
    coreGates: [],
    ports: [],
    classFile: join(import.meta.dirname, "cluster-class.yaml"),
    className: "marina-in-memory-v1",
    classAfter: [],
  },
};

export function isEngine(text: string): text is Engine {
  return (ENGINES as readonly string[]).includes(text);
}

/** Throws a StartError for a run directory whose clusters belong to another engine, which would not be running. */
export function requireSameEngine(dir: string, engine: Engine): void {
  const file = join(dir, "engine");
  const kept = existsSync(file) ? readFileSync(file, "utf8") : engine;
  if (kept !== engine) {
    throw new StartError(
      `The clusters in ${dir} were created with --engine=${kept}: start with that, or with --fresh to forget them.`,
    );
  }
  writeFileSync(file, engine);
}
