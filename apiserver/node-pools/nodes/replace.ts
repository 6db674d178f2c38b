import { ANNOTATION_REPLACE_PREFIX } from "../../../shared/crd/names.ts";
import { changeObject } from "../../custom-resources/index.ts";
import type { Deps } from "../../deps.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { ApiError } from "../../http/errors.ts";
import type { ProjectedNodePool } from "../../projection/index.ts";
import { nodePoolsOf } from "../resource.ts";
import { isReplacing, requireMachine } from "./present.ts";

/**
 * Requests the replacement of one node of a pool, by an annotation that the operator removes when it has acted. A repeated
 * request changes nothing while that is under way. Throws 404 when the pool has no such node, 409 conflict when it is
 * being deleted, and what `changeObject` throws.
 */
export async function replaceNode(
  deps: Deps,
  origin: Origin,
  pool: ProjectedNodePool,
  node: string,
): Promise<ProjectedNodePool> {
  const { object } = await changeObject(deps, origin, nodePoolsOf(pool.orgId, pool.clusterId), pool, {
    action: "node.replace",
    plan(current) {
      const machine = requireMachine(current.object, node);
      if (current.object.metadata.deletionTimestamp !== undefined)
        throw new ApiError("conflict", "The node pool is being deleted, and the node with it.");
      if (isReplacing(current.object, machine)) return { spec: {} };
      return {
        spec: {},
        annotations: { [`${ANNOTATION_REPLACE_PREFIX}${node}`]: origin.requestId },
        after: { node },
      };
    },
  });
  return object;
}
