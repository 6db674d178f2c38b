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
  const { principal, requestId, sourceAddress = null } = origin;
  return insertAudit(tx, { actor: toActor(principal), requestId, sourceAddress }, entry);
}

/** The same for a change that came past REST: its actor is the field manager that wrote to the Kubernetes API. */
export async function recordOutsideAudit(tx: Queryable, manager: string, entry: AuditEntry): Promise<string> {
  return insertAudit(
    tx,
    { actor: { kind: "kubernetes", manager }, requestId: null, sourceAddress: null },
    entry,
  );
}

interface Author {
  actor: AuditActor;
  requestId: string | null;
  sourceAddress: string | null;
}

async function insertAudit(tx: Queryable, author: Author, entry: AuditEntry): Promise<string> {
  const id = createId();
  await tx.insert(auditLog).values({
    id,
    ...author,
    action: entry.action,
    orgId: entry.orgId,
    targetKind: entry.target.kind,
    targetId: entry.target.id,
    before: entry.before ?? null,
    after: entry.after ?? null,
    result: entry.result,
  });
  return id;
}

function toActor(principal: Principal): AuditActor {
  return { kind: "user", userId: principal.userId, email: principal.email ?? null };
}
