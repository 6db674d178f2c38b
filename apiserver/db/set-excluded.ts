import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable, PgUpdateSetSource } from "drizzle-orm/pg-core";

/** For `on conflict … do update`: sets every column that is not generated to the value of the row to be inserted. */
export function setExcluded<T extends PgTable>(table: T): PgUpdateSetSource<T> {
  const columns = Object.entries<PgColumn>(getTableColumns(table));
  const written = columns.filter(
    ([, { generated, generatedIdentity }]) => generated === undefined && generatedIdentity === undefined,
  );
  const set: [string, SQL][] = written.map(([key, { name }]) => [key, sql`excluded.${sql.identifier(name)}`]);
  return Object.fromEntries(set) as PgUpdateSetSource<T>;
}
