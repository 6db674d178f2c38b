import { ANNOTATION_REPLACE_PREFIX } from "../../shared/crd/names.ts";
import { type NodePool, type NodePoolMachine, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { ApiError, notFound } from "../http/errors.ts";
import type { ProjectedCluster, ProjectedNodePool } from "../projection/store.ts";
import { writeWithIntent } from "../write-intents/store.ts";
import { patchOnce, retryOvertaken } from "./kube-write.ts";
import { commit, project, readLive, toAudit } from "./live.ts";
import { findMachineOf, isReplacing } from "./present-node.ts";
import { WIRE_NAMES } from "./wire-names.ts";

export interface AskedReplacement {
  pool: ProjectedNodePool;
  machine: NodePoolMachine;
}

/**
 * Asks the operator to replace one node of a pool, by an annotation that it removes when it has acted. Asking again
 * while that is under way changes nothing. Throws 404 when the pool has no such node, 409 conflict when it is being
 * deleted.
 */
export async function replaceNode(
  deps: Deps,
  origin: Origin,
  cluster: ProjectedCluster,
  pool: ProjectedNodePool,
  node: string,
): Promise<AskedReplacement> {
  return retryOvertaken("The node pool", async () => {
    const live = await readLive(deps, pool);
    const machine = findMachineOf(live, node);
    if (machine === undefined) throw notFound("node");
    if (live.metadata.deletionTimestamp !== undefined)
      throw new ApiError("conflict", "The node pool is being deleted, and the node with it.");
    if (isReplacing(live, machine)) return { pool: project(live, cluster), machine };
    const entry = toAudit(cluster, pool.id, { action: "node.replace", after: { node } });
    const written = await writeWithIntent(
      deps,
      origin,
      { kind: "NodePool", verb: "change", metadata: live.metadata, entry },
      () => ask(deps, origin, live, node),
    );
    if (written === undefined) return undefined;
    return { pool: await commit(deps, cluster, written), machine };
  });
}

function ask(deps: Deps, { requestId }: Origin, live: NodePool, node: string): Promise<NodePool | undefined> {
  return patchOnce(deps.kube, nodePoolKind, live, {
    spec: {},
    requestId,
    wireNames: WIRE_NAMES,
    annotations: { [`${ANNOTATION_REPLACE_PREFIX}${node}`]: requestId },
  });
}
