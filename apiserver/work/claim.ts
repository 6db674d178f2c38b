import { and, eq, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable, PgUpdateSetSource } from "drizzle-orm/pg-core";
import { createId } from "../../shared/program/id.ts";
import type { Queryable } from "../db/client.ts";

/**
 * A table whose rows are processed by any number of processes. `dueAt` is when a row may be claimed and, while it is
 * claimed, when that claim ends.
 */
type WorkTable = PgTable & { dueAt: PgColumn; claimId: PgColumn };
type Row<Table extends PgTable> = Table["$inferSelect"];

/**
 * The claims of a table, whose rows the columns `keys` identify. A claim that is not completed in time ends by itself
 * and another process takes the row; what the first one writes then is not written, and returns false. Without `at`
 * times are of Postgres.
 */
export function createClaims<Table extends WorkTable, Key extends keyof Row<Table> & string>(
  table: Table,
  keys: readonly Key[],
) {
  type Claimed = Pick<Row<Table>, Key> & { claimId: string | null };
  type Changes = PgUpdateSetSource<Table>;
  const columns = table as Table & Record<Key, PgColumn>;
  const returned = { claimId: table.claimId };
  const isClaimed = (row: Claimed) =>
    and(...keys.map((key) => eq(columns[key], row[key])), eq(table.claimId, row.claimId));
  const update = async (db: Queryable, row: Claimed, set: object): Promise<boolean> =>
    (await db.update<PgTable>(table).set(set).where(isClaimed(row)).returning(returned)).length > 0;

  return {
    /** Whether a row may be claimed. */
    isDue: (at?: Date): SQL => sql`${table.dueAt} <= ${after(0, at)}`,
    /**
     * Claims rows. `where` compares by `=` with a subquery that locks them `for update skip locked`: with `in` the plan
     * may execute it more than once, and each time find other rows.
     */
    async take(
      db: Queryable,
      where: SQL,
      { leaseSeconds, at, set }: { leaseSeconds: number; at?: Date; set?: Changes },
    ): Promise<(Row<Table> & { claimId: string })[]> {
      const claim = { claimId: createId(), dueAt: after(leaseSeconds, at) };
      const values: object = { ...set, ...claim };
      const rows: unknown = await db.update<PgTable>(table).set(values).where(where).returning();
      return rows as (Row<Table> & { claimId: string })[];
    },
    /** Lets a claim last for `seconds` from now. */
    extend: (db: Queryable, row: Claimed, seconds: number, { at, set }: { at?: Date; set?: Changes } = {}) =>
      update(db, row, { ...set, dueAt: after(seconds, at) }),
    /** Ends a claim; the row can be claimed again after `seconds`. */
    postpone: (
      db: Queryable,
      row: Claimed,
      seconds: number,
      { at, set }: { at?: Date; set?: Changes } = {},
    ) => update(db, row, { ...set, claimId: null, dueAt: after(seconds, at) }),
    /** Ends a claim and the work. */
    complete: (db: Queryable, row: Claimed, set: Changes) =>
      update(db, row, { ...set, claimId: null, dueAt: null }),
    /** Deletes a row whose work is done. */
    async remove(db: Queryable, row: Claimed): Promise<boolean> {
      return (await db.delete<PgTable>(table).where(isClaimed(row)).returning(returned)).length > 0;
    },
  };
}

function after(seconds: number, at: Date | undefined): SQL {
  const from = at === undefined ? sql`now()` : sql`${at.toISOString()}::timestamptz`;
  return sql`${from} + make_interval(secs => ${seconds})`;
}
