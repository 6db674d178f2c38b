import { changeObject, requireCluster } from "../custom-resources/index.ts";
import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { objectTag } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { requireOrganization } from "../organizations/index.ts";
import { presentCluster } from "./present.ts";
import { clustersOf } from "./resource.ts";
import { clusterRecord, setSuspensionBody } from "./schema.ts";
import type { CatalogueReader } from "./versions/catalogue.ts";

/** The suspension of a cluster by the platform's staff. */
export function addSuspensionRoutes(router: Router, deps: Deps, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "put",
      path: "/api/v1/admin/organizations/{orgID}/clusters/{clusterID}/suspension",
      operationId: "setClusterSuspension",
      tag: "Platform administration",
      summary: "Suspend or resume a cluster",
      description:
        "Of a suspended cluster, its node pools and its kubeconfigs nothing is changed until it is resumed: requests of its organization that would are refused with conflict. What runs continues to run, and kubeconfigs can still be revoked.",
      access: "platform-admin",
      body: setSuspensionBody,
      responses: {
        200: { description: "The cluster.", body: clusterRecord, headers: ["ETag"] },
      },
      errors: ["conflict", "managed_elsewhere", "precondition_failed"],
    },
    async (c, { origin, params: { orgID, clusterID }, readBody }) => {
      await requireOrganization(deps.db, orgID);
      const cluster = await requireCluster(deps.db, orgID, clusterID);
      const { suspended } = await readBody();
      const { object } = await changeObject(deps, origin, clustersOf(orgID), cluster, {
        action: suspended ? "cluster.suspend" : "cluster.resume",
        ifMatch: c.req.header("if-match"),
        plan(current) {
          const before = current.object.spec.suspend === true;
          if (before === suspended) return { spec: {} };
          return { spec: { suspend: suspended }, before: { suspended: before }, after: { suspended } };
        },
      });
      const record = presentCluster(object, await catalogue.readKnown());
      return c.json(record, 200, { ETag: objectTag(object.object.metadata) });
    },
  );
}
