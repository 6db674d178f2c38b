import { recordAudit } from "../../audit/index.ts";
import { toActor } from "../../audit/record.ts";
import type { Queryable } from "../../db/client.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { type Preconditions, requireMatch } from "../../http/contract/etag.ts";
import { markAllDue } from "../budgets/due-store.ts";
import { effectiveAfter } from "../month.ts";
import { presentRates, rateCardTag } from "./present.ts";
import { insertRates, lockRateCard, type Rates, readLastRateChange, readRates } from "./store.ts";

export interface RateCardChange {
  /** The new prices; those of other resource types are unchanged. */
  rates: Rates;
  preconditions?: Preconditions;
  now: () => Date;
}

/**
 * Sets prices that hold from now on; changes follow each other. Returns all prices, and when the new ones took effect.
 * Throws 412.
 */
export async function setRates(
  tx: Queryable,
  origin: Origin,
  { rates, preconditions, now }: RateCardChange,
): Promise<{ rates: Rates; effectiveFrom: Date }> {
  await lockRateCard(tx);
  const last = await readLastRateChange(tx);
  requireMatch(preconditions, rateCardTag(last));
  const before = await readRates(tx);
  const effectiveFrom = effectiveAfter(last, now());
  await insertRates(tx, rates, { effectiveFrom, changedBy: toActor(origin) });
  await markAllDue(tx, now());
  const after = new Map([...before, ...rates]);
  await recordAudit(tx, origin, {
    action: "rate_card.update",
    orgId: null,
    target: { kind: "rate_card", id: "rate_card" },
    before: presentRates(before),
    after: presentRates(after),
    result: "done",
  });
  return { rates: after, effectiveFrom };
}
