import {
  type Capability,
  type ClassCapabilitiesByPlan,
  classCapabilitiesSchema,
  DEFAULT_PLAN,
  findUnsupportedReason,
  type PlanCapabilities,
} from "../../shared/crd/class-capabilities.ts";
import { CAPABILITIES_CONFIG_MAP, CAPABILITIES_KEY } from "../../shared/crd/names.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { type ConfigMapDeps, type ConfigMapReader, createConfigMapReader } from "./config-map-reader.ts";
import type { ProjectedCluster } from "./project/index.ts";

export type CapabilitiesReader = Pick<ConfigMapReader<ClassCapabilitiesByPlan>, "readKnown">;

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

/** Refuses a field that needs a capability which is known to be missing; empty = it does not. */
export function refuseUnsupported(field: string, capability: Capability | undefined): ErrorDetail[] {
  const reason = findUnsupportedReason(capability);
  if (reason === undefined) return [];
  const message = `is not supported; leave it out, or ask the platform's operator ("${reason}")`;
  return [{ field, code: "unsupported", message }];
}
