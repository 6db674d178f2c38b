import type { PlanCapabilities } from "../../shared/crd/class-capabilities.ts";
import { isAlwaysPropagated } from "../../shared/crd/node-labels.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { refuseUnsupported } from "../resources/capabilities.ts";
import type { CreateNodePoolBody } from "./schema.ts";

/** The labels of `after` that `before` does not have, or has with another value: what is there already is refused nobody. */
export function findNewLabels(
  before: Readonly<Record<string, string>> = {},
  after: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key] !== value));
}

/** What a pool asks for and the class of its cluster is known not to have; `prefix` is the place of the pool in the body. */
export function checkPoolCapabilities(
  {
    node_labels: labels = {},
    node_taints: taints = [],
  }: Pick<CreateNodePoolBody, "node_labels" | "node_taints">,
  capabilities: PlanCapabilities | undefined,
  prefix = "",
): ErrorDetail[] {
  const needsLabels = Object.keys(labels).some((key) => !isAlwaysPropagated(key));
  return [
    ...(needsLabels ? refuseUnsupported(`${prefix}node_labels`, capabilities?.nodeLabels) : []),
    ...(taints.length > 0 ? refuseUnsupported(`${prefix}node_taints`, capabilities?.nodeTaints) : []),
  ];
}
