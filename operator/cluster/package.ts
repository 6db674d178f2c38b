import type { Problem } from "../../shared/controller/conditions.ts";
import { DEFAULT_PLAN } from "../../shared/crd/published-config.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import type { ObservedCluster } from "./observe.ts";

/**
 * Why a cluster cannot have what it specifies with its package; undefined = it can. A retired package stays on the
 * clusters that were created before, and a package whose number of replicas changed does not change those of a cluster
 * that runs.
 */
export function findPackageProblem({ cluster, capi, packages }: ObservedCluster): Problem | undefined {
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
  const live = capi?.object.spec?.topology?.controlPlane?.replicas;
  if (controlPlaneReplicas === undefined || controlPlaneReplicas === live) return undefined;
  if (controlPlaneReplicas === terms.controlPlaneReplicas) return undefined;
  const message = `The plan ${plan} has a control plane of ${terms.controlPlaneReplicas}, not of ${controlPlaneReplicas}; this one must have ${live ?? terms.controlPlaneReplicas}. ${ADVICE_BY_REASON.ReplicasNotInPlan.kubectl}`;
  return { reason: "ReplicasNotInPlan", message };
}

/** That there is no such plan, with those that a new cluster can have: configured, and not retired. */
export function composeUnknownPlan(
  { settings, packages }: Pick<ObservedCluster, "settings" | "packages">,
  planName: string,
): Problem {
  const isRetired = (name: string) =>
    Object.hasOwn(packages, name) && packages[name]?.retiredAt !== undefined;
  const names = Object.keys(settings.plans).filter((name) => name !== DEFAULT_PLAN && !isRetired(name));
  const choices = [
    ...(names.length > 0 ? [`with one of ${names.join(", ")}`] : []),
    ...(Object.hasOwn(settings.plans, DEFAULT_PLAN) ? ["without a plan"] : []),
  ];
  const advice =
    choices.length === 0
      ? "ask the platform's operator for one."
      : `create the cluster again ${choices.join(" or ")}, or ask the platform's operator for it.`;
  return { reason: "UnknownPlan", message: `There is no plan ${planName}; ${advice}` };
}
