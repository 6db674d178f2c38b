import { recordAudit } from "../../audit/index.ts";
import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { ApiError } from "../../http/errors.ts";
import { monthBefore, monthOf, periodOf } from "../month.ts";
import { dryRunClose } from "./close.ts";
import { listWaiting, requestClose } from "./close-store.ts";
import { presentOutcome, presentWaiting } from "./present.ts";
import { closeQuery, closeRecord, dryCloseRecord, waitingInvoicePage } from "./schema.ts";

const ADMIN_TAG = "Platform administration";

/** What the platform's staff can do with the close of a month. */
export function addCloseRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "post",
      path: "/api/v1/admin/billing/close",
      operationId: "closeMonth",
      tag: ADMIN_TAG,
      summary: "Close a month",
      description:
        "Issues the invoices of a month that has ended, one by one in the background. Safe to repeat: an organization that has an invoice of the month gets no other one.",
      access: "platform-admin",
      query: closeQuery,
      responses: {
        200: {
          description:
            "What a close would come to, without invoices that earlier closes missed: a page of organizations, in the order of their ids.",
          body: dryCloseRecord,
        },
        202: { description: "The close begins within a minute.", body: closeRecord, headers: ["Location"] },
      },
      errors: ["conflict"],
    },
    async (c, { deps, author, query, transact, runOnce }) => {
      const now = deps.now();
      const month = query.month ?? monthBefore(monthOf(now));
      if (month.end > now) throw new ApiError("conflict", "The month has not ended.");
      if (query.dry_run)
        return runOnce({ resume: "run" }, async () => {
          const page = await dryRunClose(deps, month, query, presentOutcome);
          return c.json({ month: month.name, ...page }, 200);
        });
      return transact(
        async (tx) => {
          await requestClose(tx, periodOf(month), now);
          await recordAudit(tx, author, {
            action: "month.close",
            orgId: null,
            target: { kind: "month", id: month.name },
            result: "done",
          });
        },
        () =>
          c.json({ month: month.name, requested_at: now.toISOString() }, 202, {
            Location: "/api/v1/admin/billing/invoices",
          }),
      );
    },
  );

  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/admin/billing/waiting-invoices",
      operationId: "listWaitingInvoices",
      tag: ADMIN_TAG,
      summary: "List what waits to be invoiced, and why",
      access: "platform-admin",
      query: pageQuery,
      responses: { 200: { description: "A page, the oldest first.", body: waitingInvoicePage } },
    },
    async (c, { deps, query }) => {
      const rows = await listWaiting(deps.db, query);
      return c.json(toPage(rows, query.limit, presentWaiting), 200);
    },
  );
}
