import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { objectTag, readPreconditions } from "../../http/contract/etag.ts";
import type { Router } from "../../http/contract/router.ts";
import { listAllNodePools } from "../../resources/project/index.ts";
import { dryRunQuery, RETRY_AFTER, requireCluster } from "../../resources/write/index.ts";
import { locationOf, presentCluster } from "../present.ts";
import { upgradeAccepted, upgradeBody } from "../schema.ts";
import { readerFor, type TenantReader } from "../tenant-reader.ts";
import type { CatalogueReader } from "../versions/catalogue.ts";
import { changeCluster } from "../write.ts";
import { readUpgradeChecks } from "./checks.ts";
import { countWorkers, mergeUpgrade } from "./merge-upgrade.ts";

/** The upgrade of a cluster; a PUT with another k8s_version does the same. */
export function addUpgradeRoutes(
  router: Router,
  deps: Deps,
  catalogue: CatalogueReader,
  tenants: TenantReader,
): void {
  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/organizations/{orgID}/clusters/{clusterID}/upgrade",
      operationId: "upgradeCluster",
      tag: "Clusters",
      summary: "Upgrade a cluster",
      description:
        "One step: to a higher patch of the running minor, or to the next minor. The control plane is upgraded first, then the node pools. A pool that is blocked is counted as pending, and upgraded as soon as it can be. A dry run lists in effects.checks what the upgrade finds in the cluster, for which it needs clusters:access.",
      access: "clusters:upgrade",
      query: dryRunQuery,
      body: upgradeBody,
      responses: {
        200: {
          description:
            "A dry run: the record as it would be, how many node pools are upgraded, and the effects.",
          body: upgradeAccepted,
        },
        202: {
          description: "Accepted: the record, and how many node pools are upgraded.",
          body: upgradeAccepted,
          headers: ["Location", "Retry-After", "ETag"],
        },
      },
      errors: ["cluster_not_running", "conflict", "managed_elsewhere", "precondition_failed"],
    },
    async (c, { orgId, membership, caller, params, query, readBody, runOnce }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const { target_version: target } = await readBody();
      return runOnce({}, async () => {
        const versions = await catalogue.read();
        const pools = await listAllNodePools(deps.db, orgId, cluster.id);
        const changed = await changeCluster(deps, caller, cluster, {
          action: "cluster.upgrade",
          preconditions: readPreconditions(c),
          dryRun: query.dry_run,
          merge: (current) => mergeUpgrade(current, pools, target, versions),
        });
        const { object: upgraded, effects, newVersion } = changed;
        const body = { cluster: presentCluster(upgraded, versions), ...countWorkers(pools) };
        if (effects !== undefined) {
          const checks = await readUpgradeChecks(readerFor(tenants, membership), cluster, newVersion);
          return c.json({ ...body, effects: { ...effects, ...checks } }, 200);
        }
        return c.json(body, 202, {
          Location: locationOf(upgraded),
          ETag: objectTag(upgraded.object.metadata),
          ...RETRY_AFTER,
        });
      });
    },
  );
}
