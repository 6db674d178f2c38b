import type { Database, Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { findConsumers, MAX_READ_BYTES } from "../../http/contract/byte-budget.ts";
import { acceptedType, attachment, JSON_TYPE } from "../../http/contract/download.ts";
import type { Router } from "../../http/contract/router.ts";
import { invalidRequest } from "../../http/contract/validate.ts";
import type { ApiError } from "../../http/errors.ts";
import { findOrganization } from "../../organizations/index.ts";
import { readLabelValues } from "../../resources/project/index.ts";
import { CSV } from "../csv.ts";
import { FOCUS_CSV, toFocusFile } from "../invoices/focus.ts";
import { readMonthCharges } from "../invoices/focus-store.ts";
import { focusForm } from "../invoices/schema.ts";
import { type Month, monthOf } from "../month.ts";
import type { Grouping } from "../rating/lines.ts";
import { type RatingSource, readRatingSnapshot } from "../rating/read.ts";
import { runInTurns } from "../turns.ts";
import { presentForecast, presentSpend, toUsageCsv } from "./present.ts";
import { forecastQuery, forecastRecord, spendRecord, usageQuery } from "./schema.ts";

const tag = "Billing";
const BILLING = "/api/v1/organizations/{orgID}/billing";
const FORMS = [JSON_TYPE, CSV, FOCUS_CSV] as const;
/** What is made of so many intervals takes some 20 ms. */
const QUICK_INTERVALS = 1000;

/** Operations on what an organization spends. */
export function addSpendRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: `${BILLING}/usage`,
      operationId: "getUsage",
      tag,
      summary: "Get the usage of a month",
      description:
        "By cluster, node pool, resource type, unit price and day; what it amounts to is what the invoice will say. " +
        "With `Accept: text/csv`, all rows as a file, without pages, or 406 where it would be too large for one response; with `group_by` their last column is the label. With `Accept: text/csv;profile=focus-1.0`, what a closed " +
        "month is billed, in the columns of FOCUS 1.0: its invoice, or its lines where none was issued, and the credit notes " +
        "that were issued in it, and without `group_by`: its column Tags holds the labels.",
      access: "billing:read",
      query: usageQuery,
      responses: {
        200: {
          description: "The month to date, with a page of its clusters in the order of their ids.",
          body: spendRecord,
          files: [
            {
              mediaType: CSV,
              description: "One row for each day, cluster, node pool, resource type and unit price.",
              maxLength: MAX_READ_BYTES,
              example: "date,cluster_id,cluster_name,node_pool_id,resource_type\r\n",
            },
            focusForm,
          ],
          headers: ["Content-Disposition"],
        },
      },
      errors: ["not_acceptable"],
    },
    async (c, { deps, orgId, query: { month: asked, group_by: key, ...page }, acquireComputation }) => {
      const now = deps.now();
      const month = asked ?? monthOf(now);
      let form = acceptedType(c, FORMS);
      if (form === FOCUS_CSV) {
        if (key !== undefined) throw withoutGroups(key);
        await acquireComputation();
        const read = await readMonthCharges(deps, orgId, month);
        if ("charges" in read) {
          const headers = {
            "Content-Type": form,
            "Content-Disposition": attachment(month.name, "focus.csv"),
          };
          return c.body(await runInTurns(toFocusFile(read.charges)), 200, headers) as never;
        }
        form = acceptedType(c, FORMS, { form, why: read.why });
      }
      const grouping = await readGrouping(deps.db, orgId, key);
      const source = await readSource(deps.db, { orgId, month }, acquireComputation);
      const spend = { orgId, source, now, grouping };
      if (form === CSV) {
        const maxBytes = router.unread.findShare(findConsumers(c));
        const csv = await runInTurns(toUsageCsv(spend, maxBytes));
        const headers = { "Content-Type": form, "Content-Disposition": attachment(month.name, "usage.csv") };
        if (csv !== undefined) return c.body(csv, 200, headers) as never;
        // The pages in JSON have all of it: they are sent to those who accept both.
        const why = `All rows of ${month.name} would have more than ${maxBytes} bytes; the pages of JSON have them, too.`;
        acceptedType(c, [JSON_TYPE, CSV], { form, why });
      }
      return c.json(await runInTurns(presentSpend(spend, page)), 200);
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: `${BILLING}/forecast`,
      operationId: "getForecast",
      tag,
      summary: "Get a forecast of the current month",
      access: "billing:read",
      query: forecastQuery,
      responses: {
        200: { description: "What the month amounts to, and will amount to.", body: forecastRecord },
      },
    },
    async (c, { deps, orgId, query: { group_by: key }, acquireComputation }) => {
      const now = deps.now();
      const grouping = await readGrouping(deps.db, orgId, key);
      const source = await readSource(deps.db, { orgId, month: monthOf(now) }, acquireComputation);
      return c.json(await runInTurns(presentForecast({ orgId, source, now, grouping })), 200);
    },
  );
}

/** What a month is rated from; what is large is read when it may be computed with. Throws 429. */
async function readSource(
  db: Database,
  { orgId, month }: { orgId: string; month: Month },
  acquireComputation: () => Promise<void>,
): Promise<RatingSource> {
  const quick = await readQuickSource(db, orgId, month);
  if (quick !== undefined) return quick;
  await acquireComputation();
  return readRatingSnapshot(db, orgId, month);
}

/** Undefined for what is large, of which a request keeps nothing while it waits. */
async function readQuickSource(db: Database, orgId: string, month: Month): Promise<RatingSource | undefined> {
  const source = await readRatingSnapshot(db, orgId, month, QUICK_INTERVALS + 1);
  return source.intervals.length <= QUICK_INTERVALS ? source : undefined;
}

/** A label as it is now: of a node pool, else of its cluster, else of the organization. */
async function readGrouping(
  db: Queryable,
  orgId: string,
  key: string | undefined,
): Promise<Grouping | undefined> {
  if (key === undefined) return undefined;
  const values = await readLabelValues(db, orgId, key);
  const labels = new Map(Object.entries((await findOrganization(db, orgId))?.labels ?? {}));
  const labelOf: Grouping["labelOf"] = ({ nodePoolId, clusterId }) =>
    values.get(nodePoolId ?? "") ?? values.get(clusterId ?? "") ?? labels.get(key) ?? null;
  return { key, labelOf };
}

/** FOCUS has its own columns, and labels in one of them: https://focus.finops.org/focus-specification/v1-0/ */
function withoutGroups(key: string): ApiError {
  const message = "must be left out with FOCUS, whose Tags hold the labels";
  const issue = { code: "custom" as const, path: ["group_by"], message, params: { code: "unsupported" } };
  return invalidRequest("query", [{ ...issue, input: key }], { group_by: key });
}
