import type { Problem } from "../../shared/controller/conditions.ts";
import { DEFAULT_PLAN } from "../../shared/crd/published-config.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import type { ClassCapabilities } from "../capi/cluster-class.ts";
import type { CapiState } from "../capi/cluster-state.ts";
import { wasProvisioned } from "./loss.ts";
import type { ObservedCluster, ServicePlan } from "./observe.ts";
import { chooseRequested, type RequestedUpgrade } from "./upgrade-gate.ts";
import { chooseVersion, type VersionChoice } from "./version.ts";

/**
 * Why a cluster cannot have what it specifies by the terms of its service plan, its package; undefined = it can. A
 * retired plan stays on the clusters that were created before, and terms whose number of replicas changed do not change
 * those of one that runs. Of a cluster that Cluster API has, only its replicas can be a problem: it keeps its own.
 */
export function findTermsProblem({ cluster, capi, packages }: ObservedCluster): Problem | undefined {
  const { plan, controlPlaneReplicas } = cluster.spec;
  if (plan === undefined || !Object.hasOwn(packages, plan)) return undefined;
  const terms = packages[plan];
  if (terms === undefined) return undefined;
  const isNew = capi === undefined && cluster.status?.clusterClass === undefined;
  const createdAt = Date.parse(cluster.metadata.creationTimestamp ?? "");
  if (isNew && terms.retiredAt !== undefined && createdAt >= Date.parse(terms.retiredAt)) {
    const message = `The plan ${plan} is retired; create the cluster again with another plan.`;
    return { reason: "PlanRetired", message };
  }
  const liveReplicas = capi?.object.spec?.topology?.controlPlane?.replicas;
  if (controlPlaneReplicas === undefined || controlPlaneReplicas === liveReplicas) return undefined;
  if (controlPlaneReplicas === terms.controlPlaneReplicas) return undefined;
  const message = `The plan ${plan} has a control plane of ${terms.controlPlaneReplicas}, not of ${controlPlaneReplicas}; this one must have ${liveReplicas ?? terms.controlPlaneReplicas}. ${ADVICE_BY_REASON.ReplicasNotInPlan.kubectl}`;
  return { reason: "ReplicasNotInPlan", message };
}

/** The problem when there is no such plan, with those that a new cluster can have: configured, and not retired. */
export function composeUnknownServicePlan(
  { settings: { servicePlans }, packages }: Pick<ObservedCluster, "settings" | "packages">,
  planName: string,
): Problem {
  const isRetired = (name: string) =>
    Object.hasOwn(packages, name) && packages[name]?.retiredAt !== undefined;
  const names = Object.keys(servicePlans).filter((name) => name !== DEFAULT_PLAN && !isRetired(name));
  const choices = [
    ...(names.length > 0 ? [`with one of ${names.join(", ")}`] : []),
    ...(Object.hasOwn(servicePlans, DEFAULT_PLAN) ? ["without a plan"] : []),
  ];
  const advice =
    choices.length === 0
      ? "ask the platform's operator for one."
      : `create the cluster again ${choices.join(" or ")}, or ask the platform's operator for it.`;
  return { reason: "UnknownPlan", message: `There is no plan ${planName}; ${advice}` };
}

/** What a cluster that runs has of a plan that was removed: it scales, and its pools can be deleted. */
export function retainServicePlan({ capi }: ObservedCluster): ServicePlan | undefined {
  const { classRef } = capi?.state ?? {};
  const { replicas } = capi?.object.spec?.topology?.controlPlane ?? {};
  if (classRef === undefined || replicas === undefined) return undefined;
  return { class: classRef.name, namespace: classRef.namespace, controlPlaneReplicas: replicas };
}

/** The class that the cluster has in Cluster API, or had; one that was never made, as its class rejected it, gets that of its plan. */
export function findLiveClass(
  observed: ObservedCluster,
  servicePlan: ServicePlan,
): { name: string; namespace: string } {
  const { capi, cluster } = observed;
  const made = wasProvisioned(observed) ? cluster.status?.clusterClass : undefined;
  return capi?.state.classRef ?? { name: made ?? servicePlan.class, namespace: servicePlan.namespace };
}

/** The class and the version that Cluster API gets. */
export type ClassChoice = VersionChoice & {
  classRef: { name: string; namespace: string };
  capabilities: ClassCapabilities;
};

export type ResolvedChoice = ClassChoice & { version: string };

/**
 * A changed class of the service plan takes effect only with an upgrade that the user requests, so that a release of the
 * platform replaces no machines. `liveChoice` is the class that the cluster has, with its live version, for where the other one
 * lacks what the cluster uses. Undefined = the cluster's class does not exist.
 */
export function chooseClassAndVersion(
  observed: ObservedCluster,
  upgrade: RequestedUpgrade | undefined,
  servicePlan: ServicePlan,
  liveClass: { name: string; namespace: string },
  unknownPlan: Problem | undefined,
): { choice: ClassChoice; liveChoice: ResolvedChoice | undefined } | undefined {
  const { capi, cluster, catalogue, classes } = observed;
  const topology = capi && readTopology(capi.state, observed.upgradeRejection !== undefined);
  const lastTarget = cluster.status?.targetVersion;
  const requested = chooseRequested(observed, upgrade);
  const chooseFor = (capabilities: ClassCapabilities) =>
    chooseVersion({ requested, lastTarget, topology, catalogue, chained: capabilities.kubernetesVersions });
  const capabilities = classes.get(`${liveClass.namespace}/${liveClass.name}`);
  if (capabilities === undefined) return undefined;
  const choice = { classRef: liveClass, capabilities, ...chooseFor(capabilities) };
  if (topology === undefined || choice.version === topology.version) return { choice, liveChoice: undefined };
  if (unknownPlan !== undefined)
    return { choice: { ...choice, version: topology.version, problem: unknownPlan }, liveChoice: undefined };
  const classOfPlan = { name: servicePlan.class, namespace: servicePlan.namespace };
  const next = classes.get(`${classOfPlan.namespace}/${classOfPlan.name}`);
  if (next === undefined) return { choice, liveChoice: undefined };
  return {
    choice: { classRef: classOfPlan, capabilities: next, ...chooseFor(next) },
    liveChoice: {
      classRef: liveClass,
      capabilities,
      target: undefined,
      version: topology.version,
      problem: undefined,
    },
  };
}

/** After a rejected upgrade the live version is kept, as if the last rollout had not converged. */
function readTopology({ topologyVersion: version, converged }: CapiState, rejected: boolean) {
  return version === undefined ? undefined : { version, converged: converged && !rejected };
}
