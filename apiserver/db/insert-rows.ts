import { getTableColumns, is, SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";

/**
 * The beginning of a statement that inserts rows in their order; `on conflict` and `returning` may follow. All rows
 * are one parameter, so that the text, and with it the prepared statement, is the same for one row and for many. What
 * a row leaves out has the column's default or is null.
 */
export function insertRows<T extends PgTable>(table: T, rows: readonly T["$inferInsert"][]): SQL {
  const columns = writtenColumns(table);
  const names = columns.map(({ name }) => sql.identifier(name));
  return sql`insert into ${table} (${sql.join(names, sql`, `)})
    select ${sql.join(columns.map(toValue), sql`, `)} from ${rowSet(table, rows)} with ordinality as r
    order by r.ordinality`;
}

/** Rows of a table's type, for the FROM of a statement; what a row leaves out is null. */
export function rowSet<T extends PgTable>(table: T, rows: readonly Partial<T["$inferInsert"]>[]): SQL {
  const columns = Object.entries(getTableColumns(table));
  const named = rows.map((row: Record<string, unknown>) =>
    Object.fromEntries(columns.map(([key, { name }]) => [name, row[key]])),
  );
  return sql`json_populate_recordset(null::${table}, ${JSON.stringify(named, bigintToText)}::text::json)`;
}

/** For `on conflict … do update set`: every column as the row that was to be inserted has it. */
export function setExcluded(table: PgTable): SQL {
  const names = writtenColumns(table).map(({ name }) => sql.identifier(name));
  return sql.join(
    names.map((name) => sql`${name} = excluded.${name}`),
    sql`, `,
  );
}

/** The columns that the database does not compute. */
function writtenColumns(table: PgTable): PgColumn[] {
  const columns: PgColumn[] = Object.values(getTableColumns(table));
  return columns.filter(
    ({ generated, generatedIdentity }) => generated === undefined && generatedIdentity === undefined,
  );
}

function toValue(column: PgColumn): SQL {
  const value = sql`r.${sql.identifier(column.name)}`;
  if (column.default === undefined) return value;
  const usual = is(column.default, SQL) ? column.default : sql.param(column.default, column);
  return sql`coalesce(${value}, ${usual})`;
}

/** JSON has no integers beyond 2^53; the database reads them from text. */
function bigintToText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
