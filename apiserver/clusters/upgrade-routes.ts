import type { Deps } from "../deps.ts";
import { addRoute } from "../http/contract/add-route.ts";
import { objectTag } from "../http/contract/etag.ts";
import type { Router } from "../http/contract/router.ts";
import { listAllNodePools } from "../projection/store.ts";
import { dryRunQuery } from "../quotas/store.ts";
import { rehearseChange } from "./dry-run.ts";
import { RETRY_AFTER, requireCluster } from "./live.ts";
import { countWorkers, planUpgrade } from "./plan-upgrade.ts";
import { locationOf, presentCluster } from "./present-cluster.ts";
import { upgradeAccepted, upgradeBody, upgradeDryRun } from "./schema.ts";
import { type ClusterChange, changeCluster } from "./update.ts";
import type { CatalogueReader } from "./version-catalogue.ts";

/** The upgrade of a cluster; the same path as a PUT with another k8s_version. */
export function addUpgradeRoutes(router: Router, deps: Deps, catalogue: CatalogueReader): void {
  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/organizations/{orgID}/clusters/{clusterID}/upgrade",
      operationId: "upgradeCluster",
      tag: "Clusters",
      summary: "Upgrade a cluster",
      description:
        "Goes one step: to a higher patch of the running minor, or to the next minor. The control plane goes first, then the node pools. A pool that cannot take the version now is counted as pending and follows as soon as it can.",
      access: "clusters:upgrade",
      query: dryRunQuery,
      body: upgradeBody,
      responses: {
        200: {
          description: "A dry run: the record as it would be, how many node pools follow, and the effects.",
          body: upgradeDryRun,
        },
        202: {
          description: "Accepted: the record, and how many node pools follow.",
          body: upgradeAccepted,
          headers: ["Location", "Retry-After", "ETag"],
        },
      },
      errors: ["cluster_not_running", "conflict", "managed_elsewhere", "precondition_failed"],
    },
    async (c, { orgId, origin, params, query, readBody, runOnce }) => {
      const cluster = await requireCluster(deps, orgId, params.clusterID);
      const { target_version: target } = await readBody();
      return runOnce({}, async () => {
        const versions = await catalogue.read();
        const pools = await listAllNodePools(deps.db, orgId, cluster.id);
        const change: ClusterChange = {
          action: "cluster.upgrade",
          ifMatch: c.req.header("if-match"),
          decide: (current) => planUpgrade(current, pools, target, versions),
          requirePermissions() {},
        };
        if (query.dry_run) {
          const { cluster: wanted, effects } = await rehearseChange(deps, origin, cluster, change);
          return c.json({ cluster: presentCluster(wanted, versions), ...countWorkers(pools), effects }, 200);
        }
        const upgraded = await changeCluster(deps, origin, cluster, change);
        return c.json({ cluster: presentCluster(upgraded, versions), ...countWorkers(pools) }, 202, {
          Location: locationOf(upgraded),
          ETag: objectTag(upgraded.object.metadata),
          ...RETRY_AFTER,
        });
      });
    },
  );
}
