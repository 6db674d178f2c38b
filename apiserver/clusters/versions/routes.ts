import { addRoute } from "../../http/contract/add-route.ts";
import { positionPageQuery, toPositionPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import type { CatalogueReader } from "../catalogue.ts";
import { kubernetesVersionPage } from "../schema.ts";
import { positionOfVersion, presentCatalogue } from "./present.ts";

const tag = "Catalogues";

/** The catalogues that creates and upgrades choose from. */
export function addCatalogueRoutes(router: Router, catalogue: CatalogueReader): void {
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
}
