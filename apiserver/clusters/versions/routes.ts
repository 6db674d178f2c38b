import { requireCluster } from "../../custom-resources/index.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import type { Router } from "../../http/contract/router.ts";
import { withoutPrefix } from "../present.ts";
import { PLANS } from "../schema.ts";
import type { CatalogueReader } from "./catalogue.ts";
import { presentCatalogue, presentUpgrades } from "./present.ts";
import { catalogueQuery, kubernetesVersionPage, planPage } from "./schema.ts";

const tag = "Catalogues";

/** The catalogues that creates and upgrades choose from. Each is returned whole, whatever page is requested. */
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
      query: catalogueQuery,
      responses: { 200: { description: "All of them, the newest first.", body: kubernetesVersionPage } },
    },
    async (c) => c.json({ items: presentCatalogue(await catalogue.read()), next_cursor: null }, 200),
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/plans",
      operationId: "listPlans",
      tag,
      summary: "List the packages that a cluster can be created with",
      access: "signed-in",
      query: catalogueQuery,
      responses: { 200: { description: "All of them, the smallest first.", body: planPage } },
    },
    async (c) => c.json({ items: PLANS.map((slug) => ({ slug })), next_cursor: null }, 200),
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
      query: catalogueQuery,
      responses: {
        200: {
          description: "Every version that is one step from the running one, the newest first.",
          body: kubernetesVersionPage,
        },
      },
    },
    async (c, { orgId, params }) => {
      const { object } = await requireCluster(deps.db, orgId, params.clusterID);
      const running = object.status?.version;
      const current = running === undefined ? undefined : withoutPrefix(running);
      return c.json({ items: presentUpgrades(await catalogue.read(), current), next_cursor: null }, 200);
    },
  );
}
