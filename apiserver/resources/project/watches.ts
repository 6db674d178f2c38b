import { desc, sql } from "drizzle-orm";
import { createId } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { runLoop } from "../../work/loop.ts";
import { projectionWatches } from "./table.ts";

const EVERY_MS = 10_000;
/** A watch is renewed every few minutes, which takes a moment; what is lost meanwhile is seen when it is open again. */
const MAX_GAP_MS = 30_000;

/**
 * Records until the signal aborts in which times the projection follows the Kubernetes API: `isCurrent` returns whether
 * all watches are open, and `settle` resolves when everything that they delivered is written. A failure is logged.
 */
export async function recordWatches(
  { db, log, now }: Pick<Deps, "db" | "log" | "now">,
  signal: AbortSignal,
  { isCurrent, settle }: { isCurrent: () => boolean; settle: () => Promise<void> },
): Promise<void> {
  let watch: { id: string; seenAt: Date } | undefined;
  const failure = "the time of the projection is not recorded";
  await runLoop({ log, signal, failure, retryMs: EVERY_MS }, async () => {
    const seenAt = now();
    if (!isCurrent()) return EVERY_MS;
    await settle();
    if (signal.aborted) return 0;
    const gapMs = watch === undefined ? Infinity : Math.abs(seenAt.getTime() - watch.seenAt.getTime());
    const id: string = watch !== undefined && gapMs <= MAX_GAP_MS ? watch.id : createId();
    await writeWatch(db, id, seenAt);
    watch = { id, seenAt };
    return EVERY_MS;
  });
}

async function writeWatch(db: Queryable, id: string, seenAt: Date): Promise<void> {
  await db
    .insert(projectionWatches)
    .values({ id, startedAt: seenAt, seenAt })
    .onConflictDoUpdate({
      target: projectionWatches.id,
      set: { seenAt },
      setWhere: sql`${projectionWatches.seenAt} < excluded.seen_at`,
    });
}

/** The last instant at which everything that existed was projected; undefined: never yet. */
export async function findLastSeenAt(db: Queryable): Promise<Date | undefined> {
  const [row] = await db
    .select({ seenAt: projectionWatches.seenAt })
    .from(projectionWatches)
    .orderBy(desc(projectionWatches.seenAt))
    .limit(1);
  return row?.seenAt;
}
