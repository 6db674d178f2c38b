import { and, asc, desc, eq, gt, lt, notExists, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import { createId } from "../../../shared/program/id.ts";
import type { AuditActor } from "../../audit/table.ts";
import type { Queryable } from "../../db/client.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { formatMicroEuros, parseMicroEuros } from "../money.ts";
import type { ResourceType } from "../resource-types.ts";
import { rateCardPrices } from "./table.ts";

/** Unit prices in millionths of a euro per month. */
export type Rates = ReadonlyMap<ResourceType, bigint>;

/** A unit price that holds from an instant until the next one of its resource type. */
export interface PricePoint {
  resourceType: ResourceType;
  /** For one unit and a whole month, in millionths of a euro. */
  priceMicroEuros: bigint;
  effectiveFrom: Date;
}

export interface RateChange extends PricePoint {
  id: string;
  /** When the next price of this resource type took effect; null while this one holds. */
  effectiveTo: Date | null;
  changedBy: AuditActor;
}

const later = alias(rateCardPrices, "later");
const isLater = and(
  eq(later.resourceType, rateCardPrices.resourceType),
  gt(later.effectiveFrom, rateCardPrices.effectiveFrom),
);

/** Until the end of the transaction no other one changes the rate card. */
export async function lockRateCard(tx: Queryable): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('marina rate card', 0))`);
}

/** The newest price of each resource type, read from the table each time: no copy can be out of date. */
export async function readRates(db: Queryable): Promise<Rates> {
  const rows = await db
    .select({ resourceType: rateCardPrices.resourceType, price: rateCardPrices.unitPriceEUR })
    .from(rateCardPrices)
    .where(notExists(db.select().from(later).where(isLater)));
  return new Map(
    rows.map(({ resourceType, price }) => [resourceType as ResourceType, parseMicroEuros(price)]),
  );
}

/** All prices that took effect before `end`, the oldest first. */
export async function readRateHistory(db: Queryable, end: Date): Promise<PricePoint[]> {
  const rows = await db
    .select({
      resourceType: rateCardPrices.resourceType,
      price: rateCardPrices.unitPriceEUR,
      effectiveFrom: rateCardPrices.effectiveFrom,
    })
    .from(rateCardPrices)
    .where(lt(rateCardPrices.effectiveFrom, end))
    .orderBy(asc(rateCardPrices.effectiveFrom));
  return rows.map(({ resourceType, price, effectiveFrom }) => ({
    resourceType: resourceType as ResourceType,
    priceMicroEuros: parseMicroEuros(price),
    effectiveFrom,
  }));
}

/** The instant at which the newest price took effect. Throws when there is none. */
export async function readLastRateChange(db: Queryable): Promise<Date> {
  const [row] = await db
    .select({ at: rateCardPrices.effectiveFrom })
    .from(rateCardPrices)
    .orderBy(desc(rateCardPrices.effectiveFrom))
    .limit(1);
  if (row === undefined) throw new Error("the rate card has no prices");
  return row.at;
}

/** Adds prices that hold from `effectiveFrom`. */
export async function insertRates(
  tx: Queryable,
  rates: Rates,
  { effectiveFrom, changedBy }: Pick<RateChange, "effectiveFrom" | "changedBy">,
): Promise<void> {
  const rows = [...rates].map(([resourceType, price]) => ({
    id: createId(),
    resourceType,
    unitPriceEUR: formatMicroEuros(price),
    effectiveFrom,
    changedBy,
  }));
  await tx.insert(rateCardPrices).values(rows);
}

/** A page of all prices that ever held, the newest first. */
export async function listRateChanges(db: Queryable, { cursor, limit }: PageRequest): Promise<RateChange[]> {
  const changes = db
    .select({
      id: rateCardPrices.id,
      resourceType: rateCardPrices.resourceType,
      price: rateCardPrices.unitPriceEUR,
      effectiveFrom: rateCardPrices.effectiveFrom,
      effectiveTo: sql<Date | null>`
        lead(${rateCardPrices.effectiveFrom})
          over (partition by ${rateCardPrices.resourceType} order by ${rateCardPrices.effectiveFrom})`
        .mapWith(rateCardPrices.effectiveFrom)
        .as("effective_to"),
      changedBy: rateCardPrices.changedBy,
    })
    .from(rateCardPrices)
    .as("changes");
  const rows = await db
    .select()
    .from(changes)
    .where(cursor === undefined ? undefined : lt(changes.id, cursor))
    .orderBy(desc(changes.id))
    .limit(limit + 1);
  return rows.map(({ price, resourceType, ...row }) => ({
    ...row,
    resourceType: resourceType as ResourceType,
    priceMicroEuros: parseMicroEuros(price),
  }));
}
