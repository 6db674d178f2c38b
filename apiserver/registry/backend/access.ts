import { createKeyedSlots } from "../../../shared/program/limits.ts";
import { Counter, type Registry } from "../../../shared/program/metrics.ts";
import type { Deps } from "../../deps.ts";
import { type TenantRequest, takeSlot } from "../../http/contract/tenant-slot.ts";
import { ApiError, dependencyUnavailable } from "../../http/errors.ts";
import type { RegistryConfig } from "../config.ts";
import { BackendError, type NamesRequest, type RegistryBackend } from "./backend.ts";
import { createDistribution } from "./distribution.ts";
import { createHarbor } from "./harbor.ts";

/** Names of one request to the registry. */
const BATCH = 500;

const RETRY_SECONDS = 10;

/** Each thing that is done sends up to 8 requests at once, and a process has 32 connections to the registry. */
const REQUESTS_PER_TENANT = 2;

/**
 * Does work on the registry, for each tenant two things at once; one that takes part in another would wait for ever. Its requests
 * end with the signal of `request`; what is done for no tenant neither waits nor ends. Throws 503 dependency_unavailable when the
 * registry cannot be used, 429 when it was not the tenant's turn within 20 s, and 400 when the client has disconnected.
 */
export type UseRegistry = <T>(
  request: Pick<TenantRequest, "tenant" | "signal" | "ended"> | undefined,
  work: (backend: RegistryBackend) => Promise<T>,
) => Promise<T>;

/**
 * Access to the configured registry. `marina_apiserver_registry_failures_total{reason}` of this process says why it
 * could not be used.
 */
export function createRegistryAccess(
  { config, log, now }: Pick<Deps, "config" | "log" | "now">,
  metrics: Registry,
): UseRegistry {
  const failures = new Counter({
    name: "marina_apiserver_registry_failures_total",
    help: "Requests about repositories that the registry was not available for, by reason",
    labelNames: ["reason"],
    registers: [metrics],
  });
  const { registry } = config;
  if (registry === undefined)
    return async () => {
      failures.inc({ reason: "unconfigured" });
      throw noRegistry();
    };
  const backend = createBackend(registry, now);
  const slots = createKeyedSlots(REQUESTS_PER_TENANT);
  return async (request, work) => {
    const signal = request?.signal;
    // A write that waits has not begun: it waits no longer than its client.
    const free = request && (await takeSlot(slots, request.tenant, signal ?? request.ended));
    try {
      return await work(signal === undefined ? backend : backend.endingWith(signal));
    } catch (error) {
      if (!(error instanceof BackendError)) throw error;
      failures.inc({ reason: error.fault });
      log.warn({ reason: error.fault, message: error.message }, "the registry is not available");
      throw dependencyUnavailable("The registry", error, RETRY_SECONDS);
    } finally {
      free?.();
    }
  };
}

/** Every name of a list that the registry gives in pages. */
export async function* listAllNames(list: (page: NamesRequest) => Promise<string[]>): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const names = await list({ after, limit: BATCH });
    yield* names;
    if (names.length < BATCH) return;
    after = names.at(-1);
  }
}

/** The registry that the configuration names. */
export function createBackend(config: RegistryConfig, now: () => Date): RegistryBackend {
  return config.kind === "harbor" ? createHarbor(config) : createDistribution(config, now);
}

/** The registry that the configuration names. Throws 503 when there is none. */
export function requireRegistry({ registry }: { registry: RegistryConfig | undefined }): RegistryConfig {
  if (registry !== undefined) return registry;
  throw noRegistry();
}

/** 503 for a service without a registry. */
function noRegistry(): ApiError {
  return new ApiError("dependency_unavailable", "This service has no container registry.");
}
