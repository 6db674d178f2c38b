import type { PlanCapabilities } from "../../shared/crd/class-capabilities.ts";
import { isAlwaysPropagated } from "../../shared/crd/node-labels.ts";
import type { ErrorDetail } from "../http/errors.ts";
import { refuseUnsupported } from "../resources/capabilities.ts";
import type { CreateNodePoolBody } from "./schema.ts";

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
