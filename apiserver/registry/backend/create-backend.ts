import type { RegistryConfig } from "../config.ts";
import type { RegistryBackend } from "./backend.ts";
import { createDistribution } from "./distribution.ts";
import { createHarbor } from "./harbor.ts";

/** The registry that the configuration names. */
export function createBackend(config: RegistryConfig, now: () => Date): RegistryBackend {
  return config.kind === "harbor" ? createHarbor(config) : createDistribution(config, now);
}
