import { resolveVersion } from "../../../shared/crd/kubernetes-version.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { readPreconditions } from "../../http/contract/etag.ts";
import { positionPageQuery, toPositionPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import type { Attempt } from "../../http/idempotency/run-once.ts";
import type { CapabilitiesReader } from "../../resources/platform-config.ts";
import { listAllNodePools } from "../../resources/project/index.ts";
import { dryRunQuery, RETRY_AFTER, requireCluster } from "../../resources/write/index.ts";
import type { CatalogueReader } from "../catalogue.ts";
import { findInstalling, withoutPrefix } from "../kubernetes-version.ts";
import { clusterTag, locationOf, presentCluster } from "../present.ts";
import { clusterUpgradePage, upgradeAccepted, upgradeBody } from "../schema.ts";
import { type ReaderOf, readChecks, readerFor } from "../tenant-reader.ts";
import { positionOfVersion, presentUpgrades } from "../versions/present.ts";
import { changeCluster, readLiveCluster } from "../write.ts";
import { checkUpgrade, presentChecks } from "./enforce.ts";
import { countWorkers, isUpgradeMade, mergeUpgrade } from "./merge-upgrade.ts";

/** What the operator publishes, as it is read. */
export interface PlatformReaders {
  catalogue: CatalogueReader;
  capabilities: CapabilitiesReader;
}

/** The upgrade of a cluster, which a PUT with another k8s_version does too, and the versions that it can go to. */
export function addUpgradeRoutes(
  router: Router<Deps>,
  { catalogue, capabilities }: PlatformReaders,
  readerOf: ReaderOf,
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
        "One step: to a higher patch of the running minor, or to the next minor. The control plane is upgraded first, then the node pools. A pool that is blocked is counted as pending, and upgraded as soon as it can be. What the upgrade finds in the cluster is in warnings, of a dry run in effects.checks, for which it needs clusters:access. Where upgrade_checks is enforce and one of them blocks, it is refused unless it is sent with force, which the audit log shows with its reason.",
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
      errors: [
        "cluster_not_running",
        "conflict",
        "managed_elsewhere",
        "precondition_failed",
        "upgrade_blocked",
      ],
    },
    async (c, { deps, orgId, membership, caller, params, query, readBody, runOnce }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const { target_version: target, force } = await readBody();
      const pools = await listAllNodePools(deps.db, orgId, cluster.id);
      const accept = async (
        upgraded: typeof cluster,
        warnings: ReturnType<typeof presentChecks<"warnings">>,
      ) => {
        const versions = await catalogue.readCached();
        const body = { cluster: presentCluster(upgraded, versions), ...countWorkers(pools), ...warnings };
        return c.json(body, 202, {
          Location: locationOf(upgraded),
          ETag: clusterTag(upgraded, versions),
          ...RETRY_AFTER,
        });
      };
      const resume = async ({ storedValue }: Attempt) => {
        const live = await readLiveCluster(deps.kube, cluster);
        return isUpgradeMade(live, storedValue, force) ? accept(live, {}) : undefined;
      };
      const readVersion = async () => resolveVersion(await catalogue.read(), target);
      return runOnce({ resume, storedValue: readVersion }, async () => {
        const versions = await catalogue.read();
        const merge = (current: typeof cluster) => mergeUpgrade(current, pools, target, versions);
        const requested = { field: "target_version", target, force } as const;
        const reader = readerOf(deps, caller);
        const upgrade = await checkUpgrade(deps.kube, reader, membership, cluster, merge, requested);
        const changed = await changeCluster(deps, caller, cluster, {
          action: "cluster.upgrade",
          preconditions: readPreconditions(c),
          dryRun: query.dry_run,
          merge,
          upgrade,
          classes: await capabilities.readCached(),
        });
        const { projected: upgraded, effects, newVersion } = changed;
        if (effects === undefined)
          return accept(upgraded, presentChecks("warnings", membership, upgrade, newVersion));
        const checks = presentChecks("checks", membership, upgrade, newVersion);
        const body = { cluster: presentCluster(upgraded, versions), ...countWorkers(pools) };
        return c.json({ ...body, effects: { ...effects, ...checks } }, 200);
      });
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/organizations/{orgID}/clusters/{clusterID}/upgrades",
      operationId: "listUpgrades",
      tag: "Clusters",
      summary: "List the versions that a cluster can be upgraded to",
      access: "clusters:read",
      query: positionPageQuery,
      responses: {
        200: {
          description:
            "The versions that are one step from the running one, the newest first, each with what its upgrade finds in the cluster.",
          body: clusterUpgradePage,
        },
      },
    },
    async (c, { deps, orgId, membership, caller, params, query }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const { object } = cluster;
      const running = object.status?.version;
      const current = running === undefined ? undefined : withoutPrefix(running);
      const upgrades = presentUpgrades(await catalogue.read(), current, findInstalling(object));
      const page = toPositionPage(upgrades, query, positionOfVersion);
      const targets = page.items.map(({ version }) => version);
      const found = await readChecks(readerFor(readerOf(deps, caller), membership), cluster, targets);
      const items = page.items.map((item) => ({ ...item, checks: found(item.version) }));
      return c.json({ ...page, items }, 200);
    },
  );
}
