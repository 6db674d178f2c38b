import { ANNOTATION_REPLACE_PREFIX } from "../../../shared/crd/names.ts";
import type { NodePoolMachine } from "../../../shared/crd/node-pool.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import type { Caller } from "../../http/contract/caller.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { ApiError } from "../../http/errors.ts";
import type { Attempt } from "../../http/idempotency/run-once.ts";
import type { ProjectedNodePool } from "../../resources/project/index.ts";
import { changeObject, requireNodePool, requireUnsuspendedCluster } from "../../resources/write/index.ts";
import { nodePoolsOf } from "../collection.ts";
import {
  findMachine,
  findReplaced,
  isReplacing,
  type NodeRecord,
  pageMachines,
  presentNode,
  requireMachine,
} from "./present.ts";
import { nodeName, nodePage, nodeRecord } from "./schema.ts";

const tag = "Node pools";
const COLLECTION = "/api/v1/organizations/{orgID}/clusters/{clusterID}/nodepools/{poolID}/nodes";

/** Operations on the nodes of a pool. */
export function addNodeRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listNodes",
      tag,
      summary: "List the nodes of a node pool",
      access: "nodepools:read",
      query: pageQuery,
      responses: { 200: { description: "A page, in the order of their ids.", body: nodePage } },
    },
    async (c, { deps, orgId, params, query }) => {
      const pool = await requireNodePool(deps.db, orgId, params.clusterID, params.poolID);
      const page = toPage(pageMachines(pool, query), query.limit, (machine) => presentNode(pool, machine));
      return c.json(page, 200);
    },
  );

  addRoute(
    router,
    {
      method: "post",
      path: `${COLLECTION}/{name}/replace`,
      operationId: "replaceNode",
      tag,
      summary: "Replace a node",
      description: "The node is drained and removed, and a new one is created in its place.",
      access: "nodepools:update",
      params: { name: nodeName },
      responses: {
        202: {
          description: "Accepted: the node, replacing.",
          body: nodeRecord,
          headers: ["Location", "Retry-After"],
        },
      },
      errors: ["conflict"],
    },
    async (c, { deps, orgId, caller, params, runOnce }) => {
      const pool = await requireNodePool(deps.db, orgId, params.clusterID, params.poolID);
      const accept = (node: NodeRecord) =>
        c.json(node, 202, {
          Location: c.req.path.replace(/\/[^/]+\/replace$/, ""),
          "Retry-After": "10",
        });
      const resume = async ({ storedValue }: Attempt) => {
        const replaced = storedValue === null ? undefined : findReplaced(pool, JSON.parse(storedValue));
        return replaced && accept(replaced);
      };
      const known = findMachine(pool.object, params.name);
      return runOnce({ resume, storedValue: known && JSON.stringify(known) }, async () =>
        accept(await replaceNode(deps, caller, pool, params.name)),
      );
    },
  );
}

/**
 * Requests the replacement of one node of a pool, by an annotation that the operator removes when it has acted. A
 * repeated request changes nothing while that is under way. Throws 404 when the pool has no such node, 409 conflict
 * when it is being deleted or its cluster is suspended, and what `changeObject` throws.
 */
async function replaceNode(
  deps: Deps,
  caller: Caller,
  pool: ProjectedNodePool,
  node: string,
): Promise<NodeRecord> {
  let replaced: NodePoolMachine | undefined;
  const { projected } = await changeObject(deps, caller, nodePoolsOf(pool.orgId, pool.clusterId), pool, {
    action: "node.replace",
    decide(current) {
      const machine = requireMachine(current.object, node);
      replaced = machine;
      if (current.object.metadata.deletionTimestamp !== undefined)
        throw new ApiError("conflict", "The node pool is being deleted, and the node with it.");
      const check = (tx: Queryable) => requireUnsuspendedCluster(tx, pool);
      if (isReplacing(current.object, machine)) return { spec: {}, check };
      return {
        spec: {},
        check,
        annotations: { [`${ANNOTATION_REPLACE_PREFIX}${node}`]: caller.author.requestId },
        after: { node },
      };
    },
  });
  if (replaced === undefined) throw new Error("a change was not decided");
  return presentNode(projected, replaced);
}
