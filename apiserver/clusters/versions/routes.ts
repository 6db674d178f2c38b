import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { positionPageQuery, toPositionPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { requireCluster } from "../../resources/write/index.ts";
import type { CatalogueReader } from "../catalogue.ts";
import { findInstalling, withoutPrefix } from "../kubernetes-version.ts";
import { clusterUpgradePage, kubernetesVersionPage } from "../schema.ts";
import { readerFor, type TenantReader } from "../tenant-reader.ts";
import { readChecks } from "../upgrade-checks.ts";
import { positionOfVersion, presentCatalogue, presentUpgrades } from "./present.ts";

const tag = "Catalogues";

/** The catalogues that creates and upgrades choose from. */
export function addCatalogueRoutes(
  router: Router,
  deps: Deps,
  catalogue: CatalogueReader,
  tenants: TenantReader,
): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/kubernetes-versions",
      operationId: "listKubernetesVersions",
      tag,
      summary: "List the Kubernetes versions of the platform",
      access: "signed-in",
      query: positionPageQuery,
      responses: { 200: { description: "A page, the newest first.", body: kubernetesVersionPage } },
    },
    async (c, { query }) =>
      c.json(toPositionPage(presentCatalogue(await catalogue.read()), query, positionOfVersion), 200),
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
    async (c, { orgId, membership, params, query }) => {
      const cluster = await requireCluster(deps.db, orgId, params.clusterID);
      const { object } = cluster;
      const running = object.status?.version;
      const current = running === undefined ? undefined : withoutPrefix(running);
      const upgrades = presentUpgrades(await catalogue.read(), current, findInstalling(object));
      const page = toPositionPage(upgrades, query, positionOfVersion);
      const targets = page.items.map(({ version }) => version);
      const found = await readChecks(readerFor(tenants, membership), cluster, targets);
      const items = page.items.map((item) => ({ ...item, checks: found(item.version) }));
      return c.json({ ...page, items }, 200);
    },
  );
}
