import type { Plan } from "../../shared/controller/plan.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";

/** The steps of a plan, for example "apply clusters". */
export function stepsOf({ write, remove }: Plan<unknown>): string[] {
  return [...write, ...remove].map((step) => `${step.verb} ${step.kind.plural}`);
}

/** The topology that a plan applies to Cluster API's Cluster; undefined when it applies none. */
export function topologyOf({ write }: Plan<unknown>) {
  const step = write.find(({ verb, kind }) => verb === "apply" && kind === capiClusterKind);
  return step?.verb === "apply" ? (step.object as CapiCluster).spec?.topology : undefined;
}

/** A condition in the status of a plan. */
export function conditionOf<Condition extends { type: string }>(
  plan: Plan<{ conditions?: Condition[] | undefined }>,
  type: string,
) {
  return plan.status?.conditions?.find((condition) => condition.type === type);
}
