import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { objectTag } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { RETRY_AFTER, requireCluster } from "./live.ts";
import { locationOf, presentCluster } from "./present-cluster.ts";
import { clusterRecord } from "./schema.ts";
import { changeCluster } from "./update.ts";
import type { CatalogueReader } from "./version-catalogue.ts";

/** The renewal of a cluster's admin credentials. */
export function addCredentialsRoutes(router: Router, deps: Deps, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/organizations/{orgID}/clusters/{clusterID}/credentials/rotate",
      operationId: "rotateCredentials",
      tag: "Clusters",
      summary: "Rotate the admin credentials of a cluster",
      description:
        "Every admin kubeconfig that was downloaded before stops working within seconds; the next download is a new one.",
      access: "clusters:rotate_credentials",
      responses: {
        202: {
          description: "Accepted: the record.",
          body: clusterRecord,
          headers: ["Location", "Retry-After", "ETag"],
        },
      },
      errors: ["conflict", "managed_elsewhere", "precondition_failed"],
    },
    async (c, { orgId, origin, params, runOnce }) => {
      const cluster = await requireCluster(deps, orgId, params.clusterID);
      return runOnce({}, async () => {
        const rotated = await changeCluster(deps, origin, cluster, {
          action: "cluster.rotate_credentials",
          ifMatch: c.req.header("if-match"),
          decide: ({ object }) => ({
            outcome: "patch",
            patch: { credentialsGeneration: (object.spec.credentialsGeneration ?? 0) + 1 },
          }),
          requirePermissions() {},
        });
        return c.json(presentCluster(rotated, await catalogue.readKnown()), 202, {
          Location: locationOf(rotated),
          ETag: objectTag(rotated.object.metadata),
          ...RETRY_AFTER,
        });
      });
    },
  );
}
