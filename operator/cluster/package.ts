import type { Problem } from "../../shared/controller/conditions.ts";
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
