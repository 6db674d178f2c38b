import { sql } from "drizzle-orm";
import { recordSystemAudits } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { transitions } from "./table.ts";

type Written = typeof transitions.$inferSelect;

/** A transition that was just written for an object, with the last one before it that the log has. */
type Gap = Pick<Written, "objectId" | "objectKind" | "orgId"> & { sequence: number; last: number };

/**
 * Records in the audit log when the sequence of an object's transitions has a gap: a status lists the last 16, so the
 * older ones of an object that nobody observed for long are lost, and no webhook is told of them. Returns how many.
 */
export async function auditMissed(tx: Queryable, written: readonly Written[]): Promise<number> {
  const gaps = await findGaps(tx, written);
  await recordSystemAudits(
    tx,
    "projector",
    gaps.map(({ objectId, objectKind, orgId, sequence, last }) => ({
      action: `${objectKind}.transitions_missed`,
      orgId,
      target: { kind: objectKind, id: objectId },
      after: { firstMissed: last + 1, lastMissed: sequence - 1 },
      result: "done" as const,
    })),
  );
  return gaps.reduce((sum, { sequence, last }) => sum + sequence - last - 1, 0);
}

async function findGaps(tx: Queryable, written: readonly Written[]): Promise<Gap[]> {
  // The first transition of an object has no predecessor.
  const later = written.flatMap(({ objectId, objectKind, orgId, sequence }) =>
    sequence === null || sequence === 1 ? [] : [{ objectId, objectKind, orgId, sequence }],
  );
  if (later.length === 0) return [];
  return tx.execute<Gap>(sql`
    select written.*, before.last
    from json_to_recordset(${JSON.stringify(later)}::text::json)
      as written ("objectId" uuid, "objectKind" text, "orgId" uuid, sequence integer)
    cross join lateral (select coalesce(max(known.sequence), 0) as last from ${transitions} as known
      where known.org_id = written."orgId" and known.object_id = written."objectId"
        and known.sequence < written.sequence) as before
    where before.last < written.sequence - 1`);
}
