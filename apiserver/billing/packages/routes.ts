import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { isNotModified } from "../../http/contract/etag.ts";
import { textField } from "../../http/contract/fields.ts";
import { pageQuery, positionPageQuery, toPage, toPositionPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { createCapabilitiesReader, findPlanCapabilities } from "../../resources/platform-config.ts";
import { toMicroEuros } from "../money.ts";
import { lockPackage, publishPackagesSoon, requirePackage, setPackage } from "./changes.ts";
import { planTag, presentPlan, presentPlanTerms } from "./present.ts";
import { PACKAGE_SLUGS, planHistoryRecord, planPage, planTermsRecord, setPlanBody } from "./schema.ts";
import { listPackageTerms, readPackages } from "./store.ts";

const ADMIN_RECORD = "/api/v1/admin/plans/{slug}";
const params = { slug: textField(40, "The slug of the package.", "starter") };
const tag = "Platform administration";

/** Operations on the packages that clusters can be billed as. */
export function addPackageRoutes(router: Router<Deps>, deps: Deps): void {
  const capabilities = createCapabilitiesReader(deps);
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/plans",
      operationId: "listPlans",
      tag: "Catalogues",
      summary: "List the packages that a cluster can be created with",
      description:
        "With what their clusters can have: a create that asks for something else is refused (422, code `unsupported`). So is one with a package whose unavailable_reason is not null.",
      access: "signed-in",
      query: positionPageQuery,
      responses: { 200: { description: "A page, the smallest first.", body: planPage } },
    },
    async (c, { deps, query }) => {
      const published = await capabilities.readCached();
      const offered = (await readPackages(deps.db)).filter(({ retired }) => !retired);
      const plans = PACKAGE_SLUGS.flatMap((slug) => {
        const terms = offered.find((one) => one.slug === slug);
        return terms === undefined ? [] : [presentPlan(slug, terms, findPlanCapabilities(published, slug))];
      });
      return c.json(
        toPositionPage(plans, query, ({ slug }) => PACKAGE_SLUGS.indexOf(slug)),
        200,
      );
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_RECORD,
      operationId: "getPlanHistory",
      tag,
      summary: "Get a package and its history",
      access: "platform-admin",
      params,
      query: pageQuery,
      responses: {
        200: {
          description: "The terms in force, and a page of all that ever held, the newest first.",
          body: planHistoryRecord,
          headers: ["ETag"],
        },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, params: { slug }, query }) => {
      const current = await requirePackage(deps.db, slug);
      const etag = planTag(current);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      const history = await listPackageTerms(deps.db, slug, query);
      const page = toPage(history, query.limit, presentPlanTerms);
      return c.json({ current: presentPlanTerms(current), ...page }, 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: ADMIN_RECORD,
      operationId: "updatePlan",
      tag,
      summary: "Set the terms of a package",
      description:
        "They hold from now on; what was used before keeps the terms of its time. A retired package stays on the clusters that have it.",
      access: "platform-admin",
      params,
      body: setPlanBody,
      responses: { 200: { description: "The terms in force.", body: planTermsRecord, headers: ["ETag"] } },
      errors: ["precondition_failed"],
    },
    async (c, { deps, author, params: { slug }, readBody, change }) => {
      await requirePackage(deps.db, slug);
      const { monthly_price_eur: price, includes, ...body } = await readBody();
      const terms = {
        priceMicroEuros: toMicroEuros(price),
        controlPlaneReplicas: body.control_plane_replicas,
        controlPlanes: includes.control_plane,
        vcpus: includes.vcpu,
        memoryGB: includes.memory,
        diskGB: includes.disk,
        retired: body.retired,
      };
      const after = await change({
        lock: (tx) => lockPackage(tx, slug),
        tag: planTag,
        apply: (tx, before) => setPackage(tx, author, { slug, terms, before, now: deps.now }),
      });
      await publishPackagesSoon(deps);
      return c.json(presentPlanTerms(after), 200, { ETag: planTag(after) });
    },
  );
}
