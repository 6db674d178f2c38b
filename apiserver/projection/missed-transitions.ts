import { sql } from "drizzle-orm";
import { recordSystemAudits } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { transitions } from "./table.ts";

type Written = typeof transitions.$inferSelect;

/** The first transition that was just written for an object, with the last one that the log had before it. */
type Gap = Pick<Written, "objectId" | "objectKind" | "orgId"> & { first: number; last: number };

/**
 * Records in the audit log when the sequence of an object's transitions has a gap: a status lists the last 16, so the
 * older ones of an object that nobody observed for long are lost, and no webhook is told of them. Returns how many.
 */
export async function auditMissed(tx: Queryable, written: readonly Written[]): Promise<number> {
  const gaps = await findGaps(tx, written);
  await recordSystemAudits(
    tx,
    "projector",
    gaps.map(({ objectId, objectKind, orgId, first, last }) => ({
      action: `${objectKind}.transitions_missed`,
      orgId,
      target: { kind: objectKind, id: objectId },
      after: { firstMissed: last + 1, lastMissed: first - 1 },
      result: "done" as const,
    })),
  );
  return gaps.reduce((sum, { first, last }) => sum + first - last - 1, 0);
}

async function findGaps(tx: Queryable, written: readonly Written[]): Promise<Gap[]> {
  const firsts = new Map<string, Gap>();
  for (const { objectId, objectKind, orgId, sequence } of written) {
    const first = Math.min(sequence ?? Infinity, firsts.get(objectId)?.first ?? Infinity);
    if (Number.isFinite(first)) firsts.set(objectId, { objectId, objectKind, orgId, first, last: 0 });
  }
  // The first transition of an object has no predecessor.
  const later = [...firsts.values()].filter(({ first }) => first > 1);
  if (later.length === 0) return [];
  const rows = await tx.execute<{ objectId: string; last: number }>(sql`
    select "objectId", coalesce((select max(sequence) from ${transitions} as known
        where known.object_id = written."objectId" and known.sequence < written.first), 0) as last
    from json_to_recordset(${JSON.stringify(later)}::text::json) as written ("objectId" uuid, first integer)`);
  const lasts = new Map(rows.map(({ objectId, last }) => [objectId, last]));
  return later
    .map((gap) => ({ ...gap, last: lasts.get(gap.objectId) ?? 0 }))
    .filter(({ first, last }) => last < first - 1);
}
