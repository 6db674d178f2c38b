import { isIPv6Cidr, MAX_AUTHORIZED_CIDRS } from "../../shared/crd/cidr.ts";
import { NO_OTHER_LABEL } from "../../shared/crd/node-metadata.ts";
import type {
  Capability,
  ClassCapabilitiesByPlan,
  Packages,
  PlanCapabilities,
} from "../../shared/crd/published-config.ts";
import type { ClassCapabilities, ClassLookup } from "../capi/cluster-class.ts";
import { countTenantCIDRs } from "../cluster/networks.ts";
import type { ClusterSettings, ServicePlan } from "../cluster/observe.ts";

/** What the capabilities are decided from. */
export interface Installation {
  settings: Pick<ClusterSettings, "servicePlans" | "platformCIDRs"> & { syncedNodeLabels: RegExp };
  packages: Packages;
  classes: ClassLookup;
  /** Whether Cluster API takes the taints of pools; undefined = not known. */
  takesTaints: boolean | undefined;
}

const CONTROL_PLANE_REPLICAS = [1, 3, 5];
/** Whatever a platform synchronizes on purpose, it does not match this one. */
const ANY_LABEL = "cloud.marina.dev.example/any";

/**
 * What the clusters of each plan can have: of those that the operator is configured with, and of the packages on offer.
 */
export function decideCapabilities(installation: Installation): ClassCapabilitiesByPlan {
  const { settings, packages } = installation;
  const names = new Set([...Object.keys(settings.servicePlans), ...Object.keys(packages)]);
  return Object.fromEntries([...names].sort().map((name) => [name, decidePlan(installation, name)]));
}

function decidePlan(installation: Installation, name: string): PlanCapabilities {
  const { settings, packages, classes } = installation;
  const servicePlan = Object.hasOwn(settings.servicePlans, name) ? settings.servicePlans[name] : undefined;
  if (servicePlan === undefined)
    return { class: no(`The platform has no cluster class for the plan ${name}.`) };
  const found = classes.get(`${servicePlan.namespace}/${servicePlan.class}`);
  if (found === undefined)
    return { class: no(`The cluster class ${servicePlan.class} of the plan ${name} is not installed.`) };
  const replicas = packages[name]?.controlPlaneReplicas;
  return {
    class: servicePlan.class,
    ...decideClass(installation, servicePlan, found),
    controlPlaneReplicas: replicas === undefined ? CONTROL_PLANE_REPLICAS : [replicas],
  };
}

function decideClass(
  { settings, takesTaints }: Installation,
  { class: name }: ServicePlan,
  { variables, maxAuthorizedCIDRs, hasIPv4CIDRsAlone, workerHealthCheck }: ClassCapabilities,
): Omit<PlanCapabilities, "class"> {
  const lacks = (what: string) => no(`The cluster class ${name} does not support ${what}.`);
  const byVariable = (variable: string, what: string): Capability =>
    variables.has(variable) ? true : lacks(what);
  const hasLabels = decideLabels(settings.syncedNodeLabels);
  const hasTaints = variables.has("nodeTaints") ? true : takesTaints;
  const platformCIDRs = settings.platformCIDRs.filter((block) => !hasIPv4CIDRsAlone || !isIPv6Cidr(block));
  const most = maxAuthorizedCIDRs && countTenantCIDRs(maxAuthorizedCIDRs, platformCIDRs);
  const authorizedCIDRs =
    platformCIDRs.length === 0 || most === 0
      ? no("The platform cannot limit who reaches the API endpoint.")
      : byVariable("authorizedCIDRs", "authorized CIDRs");
  const isLimited = authorizedCIDRs === true && most !== undefined && most < MAX_AUTHORIZED_CIDRS;
  return {
    apiServerRateLimit: byVariable("apiServerRateLimit", "a rate limit of the API server"),
    authorizedCIDRs,
    ...(isLimited && { maxAuthorizedCIDRs: most }),
    ...(authorizedCIDRs === true && {
      authorizedIPv6CIDRs: hasIPv4CIDRsAlone ? lacks("IPv6 networks in authorized CIDRs") : true,
    }),
    privateEndpoint: byVariable("publicEndpoint", "a private endpoint"),
    ...(hasLabels !== undefined && { nodeLabels: hasLabels }),
    ...(hasTaints !== undefined && {
      nodeTaints: hasTaints ? true : no("The platform cannot set taints of nodes."),
    }),
    healthChecks: workerHealthCheck === undefined ? lacks("the replacement of unhealthy nodes") : true,
    zones: lacks("zones"),
  };
}

/** Undefined where some labels alone are propagated: whether those of a pool are is not known before there are any. */
function decideLabels(syncedNodeLabels: RegExp): Capability | undefined {
  if (syncedNodeLabels.test(ANY_LABEL)) return true;
  return syncedNodeLabels.source === NO_OTHER_LABEL.source
    ? no("The platform does not propagate labels of node pools to their nodes.")
    : undefined;
}

function no(reason: string): { no: string } {
  return { no: reason };
}
