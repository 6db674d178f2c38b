import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { isNotModified, readPreconditions } from "../http/contract/etag.ts";
import { toPage } from "../http/contract/page.ts";
import type { Router } from "../http/contract/router.ts";
import { idSchema } from "../http/contract/validate.ts";
import { requireOrganization } from "../organizations/index.ts";
import { listClusters } from "../resources/project/index.ts";
import { changeObject, requireCluster } from "../resources/write/index.ts";
import type { CatalogueReader } from "./catalogue.ts";
import { clusterTag, presentCluster } from "./present.ts";
import { clusterListQuery, clusterPage, clusterRecord, setSuspensionBody } from "./schema.ts";
import { clustersOf } from "./write.ts";

const adminListQuery = clusterListQuery.extend({
  org_id: idSchema.optional().openapi({ description: "Only clusters of this organization." }),
});

/** The clusters of all organizations, for the platform's staff. */
export function addAdminClusterRoutes(router: Router<Deps>, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/clusters",
      operationId: "listAdminClusters",
      tag: "Platform administration",
      summary: "List the clusters of all organizations",
      access: "platform-admin",
      query: adminListQuery,
      responses: { 200: { description: "A page, in the order of creation.", body: clusterPage } },
    },
    async (c, { deps, query: { org_id: orgId, ...query } }) => {
      const rows = await listClusters(deps.db, orgId, query);
      const versions = await catalogue.readCached();
      return c.json(
        toPage(rows, query.limit, (cluster) => presentCluster(cluster, versions)),
        200,
      );
    },
  );
}

const tag = "Platform administration";
const PATH = "/api/v1/admin/organizations/{orgID}/clusters/{clusterID}/suspension";

/** The suspension of a cluster by the platform's staff. */
export function addSuspensionRoutes(router: Router<Deps>, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "get",
      path: PATH,
      operationId: "getClusterSuspension",
      tag,
      summary: "Get a cluster that may be suspended",
      access: "platform-admin",
      responses: {
        200: { description: "The cluster.", body: clusterRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, params: { orgID, clusterID } }) => {
      await requireOrganization(deps.db, orgID);
      const cluster = await requireCluster(deps.db, orgID, clusterID);
      const versions = await catalogue.readCached();
      const etag = clusterTag(cluster, versions);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentCluster(cluster, versions), 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: PATH,
      operationId: "setClusterSuspension",
      tag,
      summary: "Suspend or resume a cluster",
      description:
        "Of a suspended cluster, its node pools and its kubeconfigs nothing is changed until it is resumed: requests of its organization that would are refused with conflict. What runs continues to run, kubeconfigs can still be revoked, also because a member was removed, and the cluster can be deleted.",
      access: "platform-admin",
      body: setSuspensionBody,
      responses: {
        200: { description: "The cluster.", body: clusterRecord, headers: ["ETag"] },
      },
      errors: ["conflict", "managed_elsewhere", "precondition_failed"],
    },
    async (c, { deps, caller, params: { orgID, clusterID }, readBody }) => {
      await requireOrganization(deps.db, orgID);
      const cluster = await requireCluster(deps.db, orgID, clusterID);
      const { suspended } = await readBody();
      const { projected } = await changeObject(deps, caller, clustersOf(orgID), cluster, {
        action: suspended ? "cluster.suspend" : "cluster.resume",
        preconditions: readPreconditions(c),
        decide(current) {
          const before = current.object.spec.suspend === true;
          if (before === suspended) return { spec: {} };
          return { spec: { suspend: suspended }, before: { suspended: before }, after: { suspended } };
        },
      });
      const versions = await catalogue.readCached();
      return c.json(presentCluster(projected, versions), 200, { ETag: clusterTag(projected, versions) });
    },
  );
}
