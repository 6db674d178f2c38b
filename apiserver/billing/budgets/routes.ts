import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { isNotModified, readPreconditions, versionTag } from "../../http/contract/etag.ts";
import { requireUnchanged } from "../../http/contract/fields.ts";
import type { Router } from "../../http/contract/router.ts";
import { parseMicroEuros } from "../money.ts";
import { deleteBudget, setBudget } from "./changes.ts";
import { presentBudget } from "./present.ts";
import { budgetRecord, setBudgetBody } from "./schema.ts";
import { requireBudget } from "./store.ts";

const tag = "Billing";
const RECORD = "/api/v1/organizations/{orgID}/billing/budget";

/** Operations on the budget of an organization. */
export function addBudgetRoutes(router: Router, deps: Deps): void {
  addRoute(
    router,
    {
      method: "get",
      path: RECORD,
      operationId: "getBudget",
      tag,
      summary: "Get the budget",
      access: "billing:read",
      responses: {
        200: { description: "The budget of a month.", body: budgetRecord, headers: ["ETag"] },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { orgId }) => {
      const budget = await requireBudget(deps.db, orgId);
      const etag = versionTag(budget.version);
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      return c.json(presentBudget(budget), 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: RECORD,
      operationId: "setBudget",
      tag,
      summary: "Create or replace the budget",
      access: "budget:update",
      body: setBudgetBody,
      responses: {
        200: { description: "The budget of a month.", body: budgetRecord, headers: ["ETag"] },
      },
      errors: ["precondition_failed"],
    },
    async (c, { orgId, origin, readBody }) => {
      const body = await readBody();
      requireUnchanged({ org_id: orgId }, body);
      const target = { orgId, preconditions: readPreconditions(c), now: deps.now() };
      const settings = {
        limitMicroEuros: parseMicroEuros(String(body.monthly_limit_eur)),
        thresholdsPct: body.thresholds_pct,
      };
      const budget = await deps.db.transaction((tx) => setBudget(tx, origin, target, settings));
      return c.json(presentBudget(budget), 200, { ETag: versionTag(budget.version) });
    },
  );

  addRoute(
    router,
    {
      method: "delete",
      path: RECORD,
      operationId: "deleteBudget",
      tag,
      summary: "Delete the budget",
      access: "budget:update",
      responses: { 204: { description: "Deleted." } },
      errors: ["precondition_failed"],
    },
    async (c, { orgId, origin }) => {
      const target = { orgId, preconditions: readPreconditions(c), now: deps.now() };
      await deps.db.transaction((tx) => deleteBudget(tx, origin, target));
      return c.body(null, 204);
    },
  );
}
