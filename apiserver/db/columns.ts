import { type SQL, sql } from "drizzle-orm";
import { timestamp } from "drizzle-orm/pg-core";

/** A column of an instant, to the millisecond that a Date holds. */
export const time = (name: string) => timestamp(name, { withTimezone: true, mode: "date", precision: 3 });

/** The values of a closed set as the list of a check constraint. They are constants of the program and are not escaped. */
export function literals(values: readonly string[]): SQL {
  return sql.raw(`(${values.map((value) => `'${value}'`).join(", ")})`);
}
