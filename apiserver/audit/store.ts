import type { Queryable } from "../db/client.ts";
import { createId } from "../http/id.ts";
import type { Origin, Principal } from "../http/principal.ts";
import { type AuditActor, type AuditFields, auditLog } from "./table.ts";

export interface AuditEntry {
  /** `<resource>.<verb>`, as in `organization.create`. */
  action: string;
  orgId: string | null;
  target: { kind: string; id: string };
  before?: AuditFields;
  after?: AuditFields;
  result: "done" | "failed";
}

/**
 * Writes one audit row in the transaction of the change that it tells of, so that neither exists without the other.
 * Returns its id.
 */
export async function recordAudit(tx: Queryable, origin: Origin, entry: AuditEntry): Promise<string> {
  const id = createId();
  await tx.insert(auditLog).values({
    id,
    actor: toActor(origin.principal),
    action: entry.action,
    orgId: entry.orgId,
    targetKind: entry.target.kind,
    targetId: entry.target.id,
    before: entry.before ?? null,
    after: entry.after ?? null,
    requestId: origin.requestId,
    sourceAddress: origin.sourceAddress ?? null,
    result: entry.result,
  });
  return id;
}

function toActor(principal: Principal): AuditActor {
  return { kind: "user", userId: principal.userId, email: principal.email ?? null };
}
