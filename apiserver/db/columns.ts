import { type Column, type SQL, sql } from "drizzle-orm";
import { numeric, timestamp } from "drizzle-orm/pg-core";

/** A column of an instant, to the millisecond that a Date holds. */
export const time = (name: string) => timestamp(name, { withTimezone: true, mode: "date", precision: 3 });

/**
 * The values of a closed set as the list of a check constraint. They are constants of the program and are not escaped.
 */
export function literals(values: readonly string[]): SQL {
  return sql.raw(`(${values.map((value) => `'${value}'`).join(", ")})`);
}

/** The first UUIDv7 of the moment so many days ago: ids sort by creation (RFC 9562 section 5.7). */
export function firstIdSince(days: number): SQL {
  return sql`overlay(
    rpad(lpad(to_hex((extract(epoch from now() - make_interval(days => ${days})) * 1000)::bigint), 12, '0'), 32, '0')
    placing '7' from 13)::uuid`;
}

/**
 * What a page of large rows is cut by, in a subquery in the order of its list: the bytes of these columns in all rows
 * before this one, and whether another row follows it.
 */
export function measureRows(order: Column, large: readonly Column[]) {
  const bytes = sql.join(
    large.map((column) => sql`coalesce(octet_length(${column}::text), 0)`),
    sql` + `,
  );
  return {
    bytesBefore:
      sql<number>`coalesce(sum(${bytes}) over (order by ${order} rows between unbounded preceding and 1 preceding), 0)::float8`.as(
        "bytes_before",
      ),
    isFollowed: sql<boolean>`lead(true, 1, false) over (order by ${order})`.as("is_followed"),
  };
}

/** An amount in euros: any double has at most 309 digits before the point; 6 decimals are kept. */
export const eurosColumn = (name: string) => numeric(name, { precision: 320, scale: 6 });

/** An amount in cents: what any price makes of any quantity. */
export const centsColumn = (name: string) => numeric(name, { precision: 400, scale: 0, mode: "bigint" });
