import type { z } from "@hono/zod-openapi";
import { presentActor } from "../../audit/present.ts";
import { versionTag } from "../../http/contract/etag.ts";
import { toEuros } from "../money.ts";
import { RESOURCE_TYPES } from "../resource-types.ts";
import type { rateCardRecord, rateChangeRecord } from "./schema.ts";
import type { RateChange, Rates } from "./store.ts";

/** The wire form of prices: always one for each resource type. Throws when one was never set. */
export function presentRates(rates: Rates): z.output<typeof rateCardRecord>["rates"] {
  const priceOf = (type: (typeof RESOURCE_TYPES)[number]) => {
    const price = rates.get(type);
    if (price === undefined) throw new Error(`the rate card has no price of ${type}`);
    return toEuros(price);
  };
  const entries = RESOURCE_TYPES.map((type) => [type, priceOf(type)]);
  return Object.fromEntries(entries) as z.output<typeof rateCardRecord>["rates"];
}

/** The entity tag of the rate card: no two changes take effect at the same instant. */
export function rateCardTag(lastChange: Date): string {
  return versionTag(lastChange.getTime());
}

/** The wire form of one price that held, or holds. */
export function presentRateChange(change: RateChange): z.output<typeof rateChangeRecord> {
  return {
    id: change.id,
    resource_type: change.resourceType,
    unit_price_eur: toEuros(change.priceMicroEuros),
    effective_from: change.effectiveFrom.toISOString(),
    effective_to: change.effectiveTo?.toISOString() ?? null,
    changed_by: presentActor(change.changedBy),
  };
}
