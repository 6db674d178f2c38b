import { clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { isAlwaysPropagated, NO_OTHER_LABEL } from "../../shared/crd/node-metadata.ts";
import {
  type ClassCapabilitiesByPlan,
  findUnsupportedReason,
  type PlanCapabilities,
} from "../../shared/crd/published-config.ts";
import { clusterResourceSetBindingKind, clusterResourceSetKind } from "../capi/add-ons.ts";
import { CORE_PROVIDER_SELECTOR, capiClusterKind, isReservedForNodes, machineKind } from "../capi/kinds.ts";
import type { CapiGates } from "../capi/required.ts";

/**
 * One line of the preflight. A warning is about what tenants cannot have; a failure is about what keeps every cluster back;
 * unknown is what cannot be seen yet.
 */
export interface Check {
  state: "ok" | "unknown" | "warning" | "failed";
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

/** A Deployment of Cluster API's core manager. */
export interface CoreManager {
  /** "namespace/name". */
  name: string;
  images: readonly string[];
}

/** Cluster API's version, by the tag of the image of its core manager; undefined = which ones there are could not be read. */
export function checkCapiVersion(managers: readonly CoreManager[] | undefined): Check {
  const about = "cluster api";
  const versions = (managers ?? []).flatMap(({ name, images }) => {
    const tag = images.map((image) => /:(v\d+\.\d+\.\d+[\w.+-]*)(@|$)/.exec(image)?.[1]).find(Boolean);
    return tag === undefined ? [] : [`${tag} (Deployment ${name})`];
  });
  if (versions.length > 0) return { state: "ok", about, text: `Cluster API is ${versions.join(", ")}.` };
  const text =
    managers === undefined
      ? "The version of Cluster API is not known: the operator may not list Deployments. Compare it with docs/operators/versions.md."
      : `The version of Cluster API is not known: no Deployment with the label ${CORE_PROVIDER_SELECTOR} has an image with one. Compare it with docs/operators/versions.md.`;
  return { state: "unknown", about, text };
}

/** A node, and what Cluster API made of the labels of its machine. */
export interface LabelledNode {
  /** "namespace/cluster". */
  cluster: string;
  node: string;
  /** The keys that its machine has. */
  wanted: readonly string[];
  /** Those of them that Cluster API has set on the node. */
  synced: readonly string[];
}

/** Whether the labels of machines reach nodes as the configuration of the operator says, by what one node has. */
export function checkNodeLabels(found: LabelledNode | undefined, syncedNodeLabels: RegExp): Check {
  const about = "labels";
  if (found === undefined) {
    const text = "No cluster has a node yet, by which to see which labels Cluster API sets on nodes.";
    return { state: "unknown", about, text };
  }
  const { cluster, node, wanted, synced } = found;
  const optional = wanted.filter((key) => !isAlwaysPropagated(key) && !isReservedForNodes(key));
  const configured = optional.filter((key) => syncedNodeLabels.test(key));
  const missing = configured.find((key) => !synced.includes(key));
  if (missing !== undefined) {
    const text = `Node ${node} of ${cluster} lacks the label ${missing} of its machine: labels of node pools do not reach nodes. Start Cluster API's core manager with --additional-sync-machine-labels=${syncedNodeLabels.source}, or empty MARINA_SYNCED_NODE_LABELS.`;
    return { state: "warning", about, text };
  }
  const unconfigured = optional.find((key) => synced.includes(key) && !syncedNodeLabels.test(key));
  if (unconfigured !== undefined) {
    const text = `Cluster API sets labels on nodes that the operator does not know of, as ${unconfigured} on node ${node} of ${cluster}: node pools with labels are refused without need. Set MARINA_SYNCED_NODE_LABELS to the value of its flag --additional-sync-machine-labels.`;
    return { state: "warning", about, text };
  }
  if (syncedNodeLabels.source === NO_OTHER_LABEL.source) {
    const text = `Cluster API sets no labels of node pools on nodes, as node ${node} of ${cluster} shows: labels but those under node-role.kubernetes.io are refused. Start its core manager with --additional-sync-machine-labels=.*, and set MARINA_SYNCED_NODE_LABELS to the same.`;
    return { state: "warning", about, text };
  }
  if (configured.length === 0) {
    const text = `The machine of node ${node} of ${cluster} has no label that MARINA_SYNCED_NODE_LABELS names, by which to see whether those reach nodes.`;
    return { state: "unknown", about, text };
  }
  return {
    state: "ok",
    about,
    text: `Labels of node pools reach nodes, as ${configured[0]} on node ${node} of ${cluster}.`,
  };
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

/** What the operator cannot work without: some of the rights of the chart, at least one of each kind. */
export function listNeededRights(platformNamespace: string): Right[] {
  return [
    { verb: "patch", group: clusterKind.group, resource: `${clusterKind.plural}/status` },
    { verb: "create", group: clusterAccessKind.group, resource: clusterAccessKind.plural },
    { verb: "create", group: capiClusterKind.group, resource: capiClusterKind.plural },
    { verb: "watch", group: machineKind.group, resource: machineKind.plural },
    ...["list", "watch", "create", "patch", "delete"].map((verb) => ({
      verb,
      group: clusterResourceSetKind.group,
      resource: clusterResourceSetKind.plural,
    })),
    {
      verb: "watch",
      group: clusterResourceSetBindingKind.group,
      resource: clusterResourceSetBindingKind.plural,
    },
    ...["watch", "create"].map((verb) => ({ verb, group: "", resource: "secrets" })),
    ...["get", "watch", "create", "patch", "delete"].map((verb) => ({
      verb,
      group: "",
      resource: "configmaps",
    })),
    { verb: "create", group: "rbac.authorization.k8s.io", resource: "roles" },
    { verb: "create", group: "coordination.k8s.io", resource: "leases", namespace: platformNamespace },
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
