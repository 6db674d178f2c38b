import {
  type ClassCapabilitiesByPlan,
  findUnsupportedReason,
  type PlanCapabilities,
} from "../../shared/crd/class-capabilities.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { capiClusterKind, machineKind } from "../capi/kinds.ts";
import type { CapiGates } from "../capi/probe-gates.ts";

/** One line of the preflight. A warning is about what tenants cannot have; a failure is about what keeps every cluster back. */
export interface Check {
  state: "ok" | "warning" | "failed";
  about: string;
  text: string;
}

/** What the dry run showed of Cluster API's feature gates. */
export function checkGates({ topology, taints }: CapiGates): Check[] {
  const about = "gates";
  if (topology === false) {
    const text = "Cluster API has no ClusterTopology: no cluster can be made. Turn the feature gate on.";
    return [{ state: "failed", about, text }];
  }
  if (taints === undefined) {
    const text = "Cluster API did not answer a dry run: see whether its webhooks run, and repeat this.";
    return [{ state: "failed", about, text }];
  }
  return taints
    ? [{ state: "ok", about, text: "Cluster API has ClusterTopology and MachineTaintPropagation." }]
    : [
        {
          state: "warning",
          about,
          text: "Cluster API has no MachineTaintPropagation: node pools with taints wait, unless their class has the variable nodeTaints. Turn the feature gate on.",
        },
      ];
}

/**
 * What the clusters of each plan can have; of those that `configured` does not name, none is made, which may be meant. A
 * configured plan without its class is a failure where none has one: no cluster can be made then.
 */
export function checkPlans(
  capabilities: ClassCapabilitiesByPlan,
  configured: Readonly<Record<string, unknown>>,
): Check[] {
  const plans = Object.entries(capabilities).map(([name, plan]) => {
    const absent = findUnsupportedReason(plan.class);
    return { about: `plan ${name}`, plan, absent, isConfigured: Object.hasOwn(configured, name) };
  });
  const hasClass = plans.some(({ isConfigured, absent }) => isConfigured && absent === undefined);
  return plans.map(({ about, plan, absent, isConfigured }) => {
    if (absent === undefined) return checkClass(about, plan);
    return isConfigured
      ? {
          state: hasClass ? "warning" : "failed",
          about,
          text: `${absent} Clusters with it are refused. Install it, or name another class in the plans of the operator.`,
        }
      : {
          state: "warning",
          about,
          text: `${absent} Clusters with it are refused. Name one in the plans of the operator, or retire the package.`,
        };
  });
}

function checkClass(about: string, capabilities: PlanCapabilities): Check {
  const name = typeof capabilities.class === "string" ? capabilities.class : "";
  const missing = Object.entries(capabilities).filter(
    ([, capability]) => findUnsupportedReason(capability) !== undefined,
  );
  const names = missing.map(([capability]) => capability).join(", ");
  return missing.length === 0
    ? { state: "ok", about, text: `The cluster class ${name} has everything.` }
    : {
        state: "warning",
        about,
        text: `The cluster class ${name} is without ${names}: these are refused. See docs/operators/cluster-class.md.`,
      };
}

/** Something that the operator does with the objects of others, everywhere or in one Namespace. */
export interface Right {
  verb: string;
  group: string;
  resource: string;
  namespace?: string;
}

/** What the operator cannot work without: some of the rights of the chart, one of each kind. */
export function listNeededRights(platformNamespace: string): Right[] {
  return [
    { verb: "patch", group: clusterKind.group, resource: `${clusterKind.plural}/status` },
    { verb: "create", group: capiClusterKind.group, resource: capiClusterKind.plural },
    { verb: "watch", group: machineKind.group, resource: machineKind.plural },
    { verb: "create", group: "", resource: "secrets" },
    { verb: "create", group: "rbac.authorization.k8s.io", resource: "roles" },
    { verb: "create", group: "", resource: "configmaps", namespace: platformNamespace },
  ];
}

/** Whether the operator has the rights that it needs; without those to read the provider's clusters it does not see one thing. */
export function checkRights(missing: { needed: readonly Right[]; providers: readonly Right[] }): Check[] {
  const about = "rights";
  const [needed] = missing.needed;
  if (needed !== undefined) {
    const text = `The operator may not ${describeRight(needed)}. Bind its ServiceAccount to the ClusterRole and the Role of the chart.`;
    return [{ state: "failed", about, text }];
  }
  if (missing.providers.length === 0)
    return [{ state: "ok", about, text: "The operator has the rights that it needs." }];
  return missing.providers.map((right) => ({
    state: "warning",
    about,
    text: `The operator may not ${describeRight(right)}: whether authorized CIDRs are in force is not known. Give its ServiceAccount a ClusterRole that may.`,
  }));
}

function describeRight({ verb, group, resource }: Right): string {
  return `${verb} ${resource}${group === "" ? "" : ` of ${group}`}`;
}

/** The image of the autoscaler, which clusters with autoscaled pools need. */
export function checkAutoscaler(image: string | undefined): Check {
  const about = "autoscaler";
  if (image !== undefined) return { state: "ok", about, text: `Autoscaled node pools use ${image}.` };
  const text =
    "No image is configured: autoscaled node pools keep their nodes. Set MARINA_CLUSTER_AUTOSCALER_IMAGE.";
  return { state: "warning", about, text };
}

/** The networks from where the platform reaches tenants. */
export function checkNetworks(platformCIDRs: readonly string[]): Check {
  const about = "networks";
  if (platformCIDRs.length > 0) {
    const text = `The platform reaches clusters from ${platformCIDRs.join(", ")}, and the ranges of pods, Services and nodes do not overlap.`;
    return { state: "ok", about, text };
  }
  const text =
    "No network of the platform is configured: authorized CIDRs are refused. Set MARINA_PLATFORM_CIDRS.";
  return { state: "warning", about, text };
}

/** One line: state, what it is about, and a sentence that says what to do. */
export function formatCheck({ state, about, text }: Check): string {
  return `${state.padEnd(7)} ${about}: ${text}`;
}
