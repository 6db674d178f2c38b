import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { pageQuery, toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { notFound } from "../http/errors.ts";
import { requireNodePool } from "./live.ts";
import { nodeName, nodePage, nodeRecord } from "./node-schema.ts";
import { findMachineOf, pageMachines, presentNode } from "./present-node.ts";
import { replaceNode } from "./replace-node.ts";

const tag = "Node pools";
const COLLECTION = "/api/v1/organizations/{orgID}/clusters/{clusterID}/nodepools/{poolID}/nodes";

/** Operations on the nodes of a pool. */
export function addNodeRoutes(router: Router, deps: Deps): void {
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
      responses: { 200: { description: "A page, in the order of their machines' ids.", body: nodePage } },
    },
    async (c, { orgId, params, query }) => {
      const { pool } = await requireNodePool(deps, orgId, params.clusterID, params.poolID);
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
      description: "The node is drained and removed, and a new one takes its place.",
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
    async (c, { orgId, origin, params, runOnce }) => {
      const { cluster, pool } = await requireNodePool(deps, orgId, params.clusterID, params.poolID);
      if (findMachineOf(pool.object, params.name) === undefined) throw notFound("node");
      return runOnce({}, async () => {
        const asked = await replaceNode(deps, origin, cluster, pool, params.name);
        return c.json(presentNode(asked.pool, asked.machine), 202, {
          Location: c.req.path.replace(/\/[^/]+\/replace$/, ""),
          "Retry-After": "10",
        });
      });
    },
  );
}
