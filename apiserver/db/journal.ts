import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { z } from "zod";

const journalSchema = z.object({
  entries: z.array(z.object({ idx: z.number(), tag: z.string(), when: z.number() })).min(1),
});

export type JournalEntry = z.output<typeof journalSchema>["entries"][number];

/** The folder of the migrations: next to this file in the source tree, or next to the bundle. */
export function migrationsFolder(): string {
  return join(dirname(fileURLToPath(import.meta.url)), "migrations");
}

/** The migrations in their order, as drizzle-kit recorded them. */
export function readJournal(folder = migrationsFolder()): JournalEntry[] {
  return journalSchema.parse(JSON.parse(readFileSync(join(folder, "meta", "_journal.json"), "utf8"))).entries;
}

/**
 * The first fault of a journal. The migrator compares only with the newest migration applied, so one that is dated
 * before another would be skipped silently.
 */
export function findJournalFault(entries: readonly JournalEntry[]): string | undefined {
  for (const [index, entry] of entries.entries()) {
    const previous = entries[index - 1];
    if (entry.idx !== index) return `${entry.tag} has the number ${entry.idx} instead of ${index}`;
    if (previous !== undefined && entry.when <= previous.when) {
      return `${entry.tag} is dated before ${previous.tag}, and would be skipped where that one has run`;
    }
  }
  return undefined;
}

/** Whether a migration that was applied, by its moment (`when`), is newer than all of the journal. */
export function isNewer(appliedMoments: readonly number[], journal: readonly JournalEntry[]): boolean {
  const newest = journal.at(-1)?.when ?? 0;
  return appliedMoments.some((moment) => moment > newest);
}

/** Whether a migration that was applied is older than all of the journal: the history of before the first release. */
export function isBeforeHistory(
  appliedMoments: readonly number[],
  journal: readonly JournalEntry[],
): boolean {
  const oldest = journal[0]?.when ?? 0;
  return appliedMoments.some((moment) => moment < oldest);
}

/** The moments of the migrations that the database holds. Rejects when it has none, or the role may not read them. */
export async function readAppliedMoments(sql: postgres.Sql): Promise<number[]> {
  const rows = await sql<{ moment: string }[]>`
    select created_at::text as moment from drizzle.__drizzle_migrations`;
  return rows.map(({ moment }) => Number(moment));
}
