import { type SQL, sql } from "drizzle-orm";
import { numeric, timestamp } from "drizzle-orm/pg-core";

/** A column of an instant, to the millisecond that a Date holds. */
export const time = (name: string) => timestamp(name, { withTimezone: true, mode: "date", precision: 3 });

/**
 * The values of a closed set as the list of a check constraint. They are constants of the program and are not escaped.
 */
export function literals(values: readonly string[]): SQL {
  return sql.raw(`(${values.map((value) => `'${value}'`).join(", ")})`);
}

/** An amount in euros: any double has at most 309 digits before the point; 6 decimals are kept. */
export const eurosColumn = (name: string) => numeric(name, { precision: 320, scale: 6 });

/** An amount in cents: what any price makes of any quantity. */
export const centsColumn = (name: string) => numeric(name, { precision: 400, scale: 0, mode: "bigint" });
