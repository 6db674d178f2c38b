import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { positionPageQuery, toPositionPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { requireCluster } from "../../resources/write/index.ts";
import { findInstalling, withoutPrefix } from "../kubernetes-version.ts";
import { kubernetesVersionPage } from "../schema.ts";
import type { CatalogueReader } from "./catalogue.ts";
import { positionOfVersion, presentCatalogue, presentUpgrades } from "./present.ts";

const tag = "Catalogues";

/** The catalogues that creates and upgrades choose from. */
export function addCatalogueRoutes(router: Router, deps: Deps, catalogue: CatalogueReader): void {
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
          description: "The versions that are one step from the running one, the newest first.",
          body: kubernetesVersionPage,
        },
      },
    },
    async (c, { orgId, params, query }) => {
      const { object } = await requireCluster(deps.db, orgId, params.clusterID);
      const running = object.status?.version;
      const current = running === undefined ? undefined : withoutPrefix(running);
      const upgrades = presentUpgrades(await catalogue.read(), current, findInstalling(object));
      return c.json(toPositionPage(upgrades, query, positionOfVersion), 200);
    },
  );
}
