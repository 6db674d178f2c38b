import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { adminTicketListQuery } from "./schema.ts";
import { listAllTickets, searchAllTickets } from "./store.ts";

/**
 * Prints the plan of the staff's list for each query string, with its times; `npm run bench support` runs it. The
 * arguments are the address of the database, and an object of query strings by name, as JSON.
 */
async function main(databaseUrl: string, queries: Record<string, string>): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  // Drizzle changes the parsers of its client.
  const client = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  let statement: { text: string; params: unknown[] } | undefined;
  const logQuery = (text: string, params: unknown[]) => {
    statement = { text, params };
  };
  const db = drizzle(client, { logger: { logQuery } });
  try {
    for (const [name, query] of Object.entries(queries)) {
      const { q, ...filter } = adminTicketListQuery.parse(Object.fromEntries(new URLSearchParams(query)));
      await (q === undefined
        ? listAllTickets(db, filter, new Date())
        : searchAllTickets(db, q, filter, new Date()));
      if (statement === undefined) throw new Error("no statement was sent");
      const { text, params } = statement;
      const rows = await sql.unsafe(`explain (analyze, buffers, summary) ${text}`, params as string[]);
      const plan = rows.map((row) => `  ${row["QUERY PLAN"]}`).join("\n");
      process.stdout.write(`\nlist, ${name}:\n${plan}\n`);
    }
  } finally {
    await Promise.all([sql.end(), client.end()]);
  }
}

const [databaseUrl = "", queries = "{}"] = process.argv.slice(2);
await main(databaseUrl, JSON.parse(queries));
