import type { Deps } from "../../deps.ts";
import { addRoute } from "../../http/contract/add-route.ts";
import { isNotModified } from "../../http/contract/etag.ts";
import { pageQuery, toPage } from "../../http/contract/page.ts";
import type { Router } from "../../http/contract/router.ts";
import { toMicroEuros } from "../money.ts";
import { lockLastRateChange, setRates } from "./changes.ts";
import { presentRateChange, presentRates, rateCardTag } from "./present.ts";
import { rateCardRecord, rateHistoryRecord, setRateCardBody } from "./schema.ts";
import { listRateChanges, readLastRateChange, readRates } from "./store.ts";

const ADMIN_RECORD = "/api/v1/admin/rate-card";

/** Operations on the prices of the platform. */
export function addRateCardRoutes(router: Router<Deps>): void {
  addRoute(
    router,
    {
      method: "get",
      path: "/api/v1/rate-card",
      operationId: "getRateCard",
      tag: "Catalogues",
      summary: "Get the rate card",
      access: "signed-in",
      responses: { 200: { description: "The prices in force.", body: rateCardRecord } },
    },
    async (c, { deps }) => c.json({ rates: presentRates(await readRates(deps.db)) }, 200),
  );

  addRoute(
    router,
    {
      method: "get",
      path: ADMIN_RECORD,
      operationId: "getRateCardHistory",
      tag: "Platform administration",
      summary: "Get the rate card and its history",
      access: "platform-admin",
      query: pageQuery,
      responses: {
        200: {
          description: "The prices in force, and a page of all that ever held, the newest first.",
          body: rateHistoryRecord,
          headers: ["ETag"],
        },
        304: { description: "Unchanged since the version in If-None-Match." },
      },
    },
    async (c, { deps, query }) => {
      // Before the prices: a change in between gives an older tag, which If-Match refuses.
      const etag = rateCardTag(await readLastRateChange(deps.db));
      if (isNotModified(c.req.header("if-none-match"), etag)) return c.body(null, 304, { ETag: etag });
      const rates = presentRates(await readRates(deps.db));
      const changes = await listRateChanges(deps.db, query);
      return c.json({ rates, ...toPage(changes, query.limit, presentRateChange) }, 200, { ETag: etag });
    },
  );

  addRoute(
    router,
    {
      method: "put",
      path: ADMIN_RECORD,
      operationId: "updateRateCard",
      tag: "Platform administration",
      summary: "Set prices of the rate card",
      description: "The given prices hold from now on. What was used before keeps the price of its time.",
      access: "platform-admin",
      body: setRateCardBody,
      responses: { 200: { description: "The prices in force.", body: rateCardRecord, headers: ["ETag"] } },
      errors: ["precondition_failed"],
    },
    async (c, { deps, author, readBody, change }) => {
      const body = await readBody();
      const rates = new Map(
        body.rates.map((rate) => [rate.resource_type, toMicroEuros(rate.unit_price_eur)]),
      );
      const { rates: after, effectiveFrom } = await change({
        lock: lockLastRateChange,
        tag: rateCardTag,
        apply: (tx, last) => setRates(tx, author, { rates, last, now: deps.now }),
      });
      return c.json({ rates: presentRates(after) }, 200, { ETag: rateCardTag(effectiveFrom) });
    },
  );
}
