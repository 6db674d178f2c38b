import { ApiError } from "../http/errors.ts";
import type { RegistryConfig } from "./config.ts";

/** The registry that the configuration names. Throws 503 when there is none. */
export function requireRegistry({ registry }: { registry: RegistryConfig | undefined }): RegistryConfig {
  if (registry !== undefined) return registry;
  throw noRegistry();
}

/** 503 for a service without a registry. */
export function noRegistry(): ApiError {
  return new ApiError("dependency_unavailable", "This service has no container registry.");
}
