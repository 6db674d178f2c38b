import { join } from "node:path";

/** What a caller needs to start the provider. Its two programs are configured by arguments and one JSON file. */
export type { Config } from "./config.ts";
export { buildManifests } from "./crds.ts";

/** Argument: the path of the configuration file (config.ts). */
export const PROVIDER_ENTRY = join(import.meta.dirname, "main.ts");

/** Arguments: --port of its control address, --file where it keeps its state. */
export const FRONT_ENTRY = join(import.meta.dirname, "front", "main.ts");

/** The manifests of the ClusterClass that uses this provider, and its name. */
export const CLUSTER_CLASS_FILE = join(import.meta.dirname, "cluster-class.yaml");
export const CLUSTER_CLASS_NAME = "marina-local-v3";
