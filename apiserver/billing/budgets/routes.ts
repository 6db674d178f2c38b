import type { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { isNotModified, versionTag } from "../../http/contract/etag.ts";
import type { Router } from "../../http/contract/router.ts";
import { toEuros, toPositiveMicroEuros } from "../money.ts";
import { budgetTag, deleteBudget, setBudget } from "./changes.ts";
import { budgetRecord, setBudgetBody } from "./schema.ts";
import { type Budget, findBudget, requireBudget } from "./store.ts";

const tag = "Billing";
const RECORD = "/api/v1/organizations/{orgID}/billing/budget";

/** Operations on the budget of an organization. */
export function addBudgetRoutes(router: Router<Deps>): void {
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
    async (c, { deps, orgId }) => {
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
    async (c, { deps, orgId, author, readBody, change }) => {
      const body = await readBody();
      const settings = {
        limitMicroEuros: toPositiveMicroEuros(body.monthly_limit_eur),
        thresholdsPct: body.thresholds_pct,
      };
      const budget = await change({
        // A deleted one too: its version goes on. The organization's row lock is held by every change of a budget.
        lock: (tx) => findBudget(tx, orgId),
        tag: budgetTag,
        immutable: () => ({ org_id: orgId }),
        apply: (tx, kept) => setBudget(tx, author, { orgId, kept, now: deps.now() }, settings),
      });
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
    async (c, { deps, orgId, author, change }) => {
      await change({
        lock: (tx) => requireBudget(tx, orgId),
        tag: budgetTag,
        apply: (tx, before) => deleteBudget(tx, author, { before, now: deps.now() }),
      });
      return c.body(null, 204);
    },
  );
}

/** The wire form of a budget. */
export function presentBudget(budget: Budget): z.output<typeof budgetRecord> {
  return {
    org_id: budget.orgId,
    monthly_limit_eur: toEuros(budget.limitMicroEuros),
    thresholds_pct: [...budget.thresholdsPct],
    created_at: budget.createdAt.toISOString(),
    updated_at: budget.updatedAt.toISOString(),
  };
}
