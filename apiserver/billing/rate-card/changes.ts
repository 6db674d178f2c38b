import { recordAudit } from "../../audit/index.ts";
import { toActor } from "../../audit/record.ts";
import type { Queryable } from "../../db/client.ts";
import type { Author } from "../../http/authentication/principal.ts";
import { markAllDue } from "../budgets/store.ts";
import { effectiveAfter } from "../month.ts";
import { presentRates } from "./present.ts";
import { insertRates, lockRateCard, type Rates, readLastRateChange, readRates } from "./store.ts";

export interface RateCardChange {
  /** The new prices; those of other resource types are unchanged. */
  rates: Rates;
  /** When the prices were last changed, as read under their lock. */
  last: Date;
  now: () => Date;
}

/** When the prices were last changed; they are locked until the transaction ends. */
export async function lockLastRateChange(tx: Queryable): Promise<Date> {
  await lockRateCard(tx);
  return readLastRateChange(tx);
}

/**
 * Sets prices that hold from now on; changes follow each other. Returns all prices, and when the new ones took effect.
 */
export async function setRates(
  tx: Queryable,
  author: Author,
  { rates, last, now }: RateCardChange,
): Promise<{ rates: Rates; effectiveFrom: Date }> {
  const before = await readRates(tx);
  const effectiveFrom = effectiveAfter(last, now());
  await insertRates(tx, rates, { effectiveFrom, changedBy: toActor(author) });
  await markAllDue(tx, now());
  const after = new Map([...before, ...rates]);
  await recordAudit(tx, author, {
    action: "rate_card.update",
    orgId: null,
    target: { kind: "rate_card", id: "rate_card" },
    before: presentRates(before),
    after: presentRates(after),
    result: "done",
  });
  return { rates: after, effectiveFrom };
}
