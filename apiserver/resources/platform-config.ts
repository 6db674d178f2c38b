import { setTimeout as sleep } from "node:timers/promises";
import { isIPv6Cidr } from "../../shared/crd/cidr.ts";
import { CAPABILITIES_CONFIG_MAP, CAPABILITIES_KEY } from "../../shared/crd/names.ts";
import {
  type Capability,
  type ClassCapabilitiesByPlan,
  classCapabilitiesSchema,
  DEFAULT_PLAN,
  findUnsupportedReason,
  type PlanCapabilities,
} from "../../shared/crd/published-config.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { messageOf } from "../../shared/program/errors.ts";
import type { Deps } from "../deps.ts";
import { dependencyUnavailable, type ErrorDetail } from "../http/errors.ts";
import type { ProjectedCluster } from "./project/index.ts";

const MAX_AGE_MS = 30_000;
/** How long a response that can do without it waits for the first read. */
const FIRST_READ_MS = 2_000;
/** After a failed read the next one in the background waits this long: each request would retry and log otherwise. */
const RETRY_AFTER_MS = 5_000;

/** What is read from one ConfigMap of the platform. */
interface ConfigMapSource<T> {
  name: string;
  key: string;
  /** For messages: "the catalogue of Kubernetes versions". */
  what: string;
  /** Before the first read. */
  initial: T;
  /** Parses the text under the key, undefined while there is none. Throws an Error that names the fault. */
  parse: (text: string | undefined) => T;
}

export interface ConfigMapReader<T> {
  /** For a write: at most 30 s old. Throws 503 when it cannot be read. */
  read(): Promise<T>;
  /**
   * The last value known, refreshed in the background at most every 5 s while that fails; `initial` before the first
   * read.
   */
  readCached(): Promise<T>;
}

export type ConfigMapDeps = Pick<Deps, "kube" | "now" | "log"> & {
  config: Pick<Deps["config"], "platformNamespace">;
};

/** Reads a ConfigMap of the platform and keeps it for 30 s. */
export function createConfigMapReader<T>(
  deps: ConfigMapDeps,
  { name, key, what, initial, parse }: ConfigMapSource<T>,
): ConfigMapReader<T> {
  let cached: { value: T; atMs: number } | undefined;
  let running: Promise<T> | undefined;
  let failedAtMs = Number.NEGATIVE_INFINITY;

  async function fetchValue(): Promise<T> {
    const map = await deps.kube.get(configMapKind, deps.config.platformNamespace, name);
    const value = parse(map?.data?.[key]);
    cached = { value, atMs: deps.now().getTime() };
    return value;
  }

  /** All requests share it, so it belongs to no single one: no tenant's share counts it, and no request's end cuts it off. */
  function refresh(): Promise<T> {
    running ??= fetchValue()
      .catch(noteFailure)
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  function noteFailure(error: unknown): never {
    failedAtMs = deps.now().getTime();
    deps.log.warn({ message: messageOf(error) }, `${what} cannot be read`);
    throw error;
  }

  const isFresh = () => cached !== undefined && deps.now().getTime() - cached.atMs < MAX_AGE_MS;
  const hasJustFailed = () => deps.now().getTime() - failedAtMs < RETRY_AFTER_MS;

  return {
    async read() {
      if (cached !== undefined && isFresh()) return cached.value;
      try {
        return await refresh();
      } catch (error) {
        throw dependencyUnavailable(what.replace(/^t/, "T"), error);
      }
    },
    async readCached() {
      const isDue = !isFresh() && !hasJustFailed();
      const refreshed = isDue ? refresh().catch(() => undefined) : undefined;
      if (cached !== undefined) return cached.value;
      const waited = sleep(FIRST_READ_MS, undefined, { ref: false });
      return (await Promise.race([refreshed, waited])) ?? initial;
    },
  };
}

export type CapabilitiesReader = Pick<ConfigMapReader<ClassCapabilitiesByPlan>, "readCached">;

/** Reads what the operator publishes of the cluster classes. Nothing is refused on account of what is not known. */
export function createCapabilitiesReader(deps: ConfigMapDeps): CapabilitiesReader {
  return createConfigMapReader(deps, {
    name: CAPABILITIES_CONFIG_MAP,
    key: CAPABILITIES_KEY,
    what: "what the cluster classes can do",
    initial: {},
    parse: (text) => (text === undefined ? {} : classCapabilitiesSchema.parse(JSON.parse(text))),
  });
}

/** What a new cluster with this plan can have; undefined = not known. */
export function findPlanCapabilities(
  published: ClassCapabilitiesByPlan,
  plan: string | null | undefined,
): PlanCapabilities | undefined {
  const name = plan ?? DEFAULT_PLAN;
  return Object.hasOwn(published, name) ? published[name] : undefined;
}

/** What a cluster can have; not known when its class is another one than new clusters with its plan get. */
export function findClusterCapabilities(
  published: ClassCapabilitiesByPlan,
  { object: { spec, status } }: ProjectedCluster,
): PlanCapabilities | undefined {
  const capabilities = findPlanCapabilities(published, spec.plan);
  return status?.clusterClass === undefined || capabilities?.class === status.clusterClass
    ? capabilities
    : undefined;
}

/** What of a list of networks that may reach the API endpoint cannot be had: any, its length or its blocks of IPv6. */
export function findUnsupportedCidrs(
  blocks: readonly string[],
  capabilities: PlanCapabilities | undefined,
): ErrorDetail[] {
  const field = "authorized_cidrs";
  const unsupported = findUnsupported(field, capabilities?.authorizedCIDRs);
  if (unsupported.length > 0) return unsupported;
  const reason = findUnsupportedReason(capabilities?.authorizedIPv6CIDRs);
  const block = blocks.find(isIPv6Cidr);
  if (reason !== undefined && block !== undefined) {
    const message = `must have no block of IPv6, as ${block}; leave it out, or ask the platform's operator ("${reason}")`;
    return [{ field, code: "unsupported", message }];
  }
  const most = capabilities?.maxAuthorizedCIDRs;
  if (most === undefined || blocks.length <= most) return [];
  const message = `must have ${most} or fewer different blocks, and has ${blocks.length}; leave some out, or ask the platform's operator`;
  return [{ field, code: "unsupported", message }];
}

/** The detail of a field that needs a capability which is known to be missing; empty = it is not. */
export function findUnsupported(field: string, capability: Capability | undefined): ErrorDetail[] {
  const reason = findUnsupportedReason(capability);
  if (reason === undefined) return [];
  const message = `is not supported; leave it out, or ask the platform's operator ("${reason}")`;
  return [{ field, code: "unsupported", message }];
}
