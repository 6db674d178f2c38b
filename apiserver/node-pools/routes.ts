import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, objectTag, readPreconditions } from "../http/contract/etag.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import {
  type CapabilitiesReader,
  createCapabilitiesReader,
  findClusterCapabilities,
} from "../resources/platform-config.ts";
import { listNodePools, type ProjectedNodePool } from "../resources/project/index.ts";
import {
  createObjectName,
  dryRunQuery,
  RETRY_AFTER,
  requireCluster,
  requireNodePool,
} from "../resources/write/index.ts";
import { findPoolViolations } from "./collection.ts";
import { exampleDeletedNodePool, exampleNewNodePool, exampleNodePoolDryRun } from "./examples.ts";
import { addNodeRoutes } from "./nodes/routes.ts";
import { presentNodePool } from "./present.ts";
import {
  createNodePoolBody,
  findPastExpiry,
  nodePoolListQuery,
  nodePoolPage,
  nodePoolRecord,
  toNodePoolChange,
  toNodePoolSpec,
  updateNodePoolBody,
} from "./schema.ts";
import { createNodePool, deleteNodePool, findUnsupportedOfPool, updateNodePool } from "./write.ts";

const tag = "Node pools";
const COLLECTION = "/api/v1/organizations/{orgID}/clusters/{clusterID}/nodepools";
const RECORD = `${COLLECTION}/{poolID}`;
const DRY_RUN = {
  description: "A dry run: the record as it would be, and the effects of the request.",
  body: nodePoolRecord,
};

/** Operations on the node pools of a cluster. */
export function addNodePoolRoutes(router: Router<Deps>, deps: Deps): void {
  const capabilitiesReader = createCapabilitiesReader(deps);
  addCreate(router, capabilitiesReader);
  addReads(router);
  addUpdate(router, capabilitiesReader);
  addDelete(router);
  addNodeRoutes(router);
}

function addCreate(router: Router<Deps>, capabilitiesReader: CapabilitiesReader): void {
  addRoute(
    router,
    {
      method: "post",
      path: COLLECTION,
      operationId: "createNodePool",
      tag,
      summary: "Create a node pool",
      access: "nodepools:create",
      query: dryRunQuery,
      body: createNodePoolBody,
      responses: {
        200: { ...DRY_RUN, bodyExample: exampleNodePoolDryRun },
        202: {
          description: "Accepted: the record, with status provisioning.",
          body: nodePoolRecord,
          bodyExample: exampleNewNodePool,
          headers: ["Location", "Retry-After", "ETag"],
        },
      },
      errors: ["operation_in_progress", "conflict", "quota_exceeded"],
    },
    async (c, { deps, orgId, caller, params, query, readBody, runOnce }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const body = await readBody();
      const spec = toNodePoolSpec(body, cluster.name);
      const capabilities = findClusterCapabilities(await capabilitiesReader.readCached(), cluster);

      const objectName = createObjectName(body.name, "pool");
      return runOnce({ resume: "run", storedValue: objectName }, async ({ id, storedValue }) => {
        const desired = { id, objectName: storedValue ?? objectName, spec };
        const { projected: pool, effects } = await createNodePool(deps, caller, cluster, desired, {
          dryRun: query.dry_run,
          details: [
            ...findPoolViolations(spec),
            ...findUnsupportedOfPool(body, capabilities),
            ...findPastExpiry(spec.expiresAt, deps.now()),
          ],
        });
        if (effects !== undefined) return c.json({ ...presentNodePool(pool), effects }, 200);
        return c.json(presentNodePool(pool), 202, {
          Location: locationOf(pool),
          ETag: objectTag(pool.object.metadata),
          ...RETRY_AFTER,
        });
      });
    },
  );
}

function addReads(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: COLLECTION,
      operationId: "listNodePools",
      tag,
      summary: "List the node pools of a cluster",
      access: "nodepools:read",
      query: nodePoolListQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: nodePoolPage } },
    },
    async (c, { deps, orgId, params, query }) => {
      await requireCluster(deps.db, orgId, params.clusterID);
      const rows = await listNodePools(deps.db, orgId, params.clusterID, query);
      return c.json(toPage(rows, query.limit, presentNodePool), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getNodePool",
      tag,
      summary: "Get a node pool",
      access: "nodepools:read",
      responses: {
        200: { description: "The node pool.", body: nodePoolRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, orgId, params }) => {
      const pool = await requireNodePool(deps.db, orgId, params.clusterID, params.poolID);
      const etag = objectTag(pool.object.metadata);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentNodePool(pool), 200, { ETag: etag });
    },
  );
}

function addUpdate(router: Router<Deps>, capabilitiesReader: CapabilitiesReader): void {
  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "updateNodePool",
      tag,
      summary: "Update a node pool",
      description: "Omitted fields keep their values. What GET returns may be sent back as it is.",
      access: "nodepools:update",
      query: dryRunQuery,
      body: updateNodePoolBody,
      responses: {
        200: {
          description: "The node pool with its new settings; of a dry run, as it would be, and the effects.",
          body: nodePoolRecord,
          headers: ["ETag"],
        },
      },
      errors: [
        "operation_in_progress",
        "conflict",
        "managed_elsewhere",
        "precondition_failed",
        "quota_exceeded",
      ],
    },
    async (c, { deps, orgId, caller, params, query, readBody }) => {
      const pool = await requireNodePool(deps.db, orgId, params.clusterID, params.poolID);
      const change = toNodePoolChange(await readBody());
      const capabilities =
        change.settings.nodeLabels === undefined
          ? undefined
          : findClusterCapabilities(
              await capabilitiesReader.readCached(),
              await requireCluster(deps.db, orgId, params.clusterID),
            );
      // Where the status changes, a status event is appended with the projection: see `projectObservations`.
      const { projected: updated, effects } = await updateNodePool(deps, caller, pool, change, {
        preconditions: readPreconditions(c),
        dryRun: query.dry_run,
        capabilities,
      });
      if (effects !== undefined) return c.json({ ...presentNodePool(updated), effects }, 200);
      return c.json(presentNodePool(updated), 200, { ETag: objectTag(updated.object.metadata) });
    },
  );
}

function addDelete(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteNodePool",
      tag,
      summary: "Delete a node pool",
      description:
        "Refused while deletion_protection is true. The record has status deleting until its nodes are removed.",
      access: "nodepools:delete",
      query: dryRunQuery,
      responses: {
        200: DRY_RUN,
        202: {
          description: "Accepted: the record, with status deleting.",
          body: nodePoolRecord,
          bodyExample: exampleDeletedNodePool,
          headers: ["Location", "Retry-After"],
        },
      },
      errors: ["conflict", "deletion_protected", "precondition_failed"],
    },
    async (c, { deps, orgId, caller, params, query }) => {
      const pool = await requireNodePool(deps.db, orgId, params.clusterID, params.poolID);
      const { projected: deleting, effects } = await deleteNodePool(deps, caller, pool, {
        preconditions: readPreconditions(c),
        dryRun: query.dry_run,
      });
      if (effects !== undefined) return c.json({ ...presentNodePool(deleting), effects }, 200);
      return c.json(presentNodePool(deleting), 202, { Location: locationOf(deleting), ...RETRY_AFTER });
    },
  );
}

function locationOf({ orgId, clusterId, id }: ProjectedNodePool): string {
  return `/api/v1/organizations/${orgId}/clusters/${clusterId}/nodepools/${id}`;
}
