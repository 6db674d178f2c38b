/** Rows in one statement: each column of each is one of its 65,535 parameters. */
const ROWS_PER_STATEMENT = 1000;

/** Rows in parts that fit into a statement each; none for no rows. */
export function chunk<Row>(rows: readonly Row[]): Row[][] {
  const count = Math.ceil(rows.length / ROWS_PER_STATEMENT);
  return Array.from({ length: count }, (_, n) =>
    rows.slice(n * ROWS_PER_STATEMENT, (n + 1) * ROWS_PER_STATEMENT),
  );
}
