import { sql } from "drizzle-orm";
import { createId } from "../../shared/id.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { idSchema } from "../http/contract/validate.ts";
import type { StaffRequest } from "../http/env.ts";
import { redact } from "./redact.ts";
import { type AuditActor, type AuditFields, auditLog } from "./table.ts";

export { auditJobs } from "./list.ts";

const MAX_PATH_LENGTH = 512;

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
  const { requestId, sourceAddress = null } = origin;
  const row = toRow({ actor: toActor(origin), requestId, sourceAddress }, entry);
  await tx.insert(auditLog).values(row);
  return row.id;
}

/** A change that came past REST, and the field manager that wrote it to the Kubernetes API. */
export interface OutsideAudit {
  manager: string;
  entry: AuditEntry;
}

/** The same for changes that came past REST: the actor of each is its field manager. */
export async function recordOutsideAudits(tx: Queryable, audits: readonly OutsideAudit[]): Promise<void> {
  if (audits.length === 0) return;
  const rows = audits.map(({ manager, entry }) =>
    toRow({ actor: { kind: "kubernetes", manager }, requestId: null, sourceAddress: null }, entry),
  );
  await tx.insert(auditLog).values(rows);
}

interface Author {
  actor: AuditActor;
  requestId: string | null;
  sourceAddress: string | null;
}

/**
 * The part of a prepared statement that writes the audit row of what its subquery `changed` returned: a change and its
 * row in one statement, which is a transaction as well. Its values are `toAuditValues`.
 */
export const AUDIT_OF_CHANGED = sql`insert into ${auditLog}
  (id, actor, request_id, source_address, action, org_id, target_kind, target_id, before, after, result)
  select ${sql.placeholder("auditId")}::uuid, ${sql.placeholder("actor")}::text::jsonb,
    ${sql.placeholder("requestId")}::text, ${sql.placeholder("sourceAddress")}::text,
    ${sql.placeholder("action")}::text, ${sql.placeholder("auditOrgId")}::uuid,
    ${sql.placeholder("targetKind")}::text, ${sql.placeholder("targetId")}::text,
    ${sql.placeholder("auditBefore")}::text::jsonb, ${sql.placeholder("auditAfter")}::text::jsonb,
    ${sql.placeholder("result")}::text
  from changed`;

/** The values of AUDIT_OF_CHANGED. */
export function toAuditValues(origin: Origin, entry: AuditEntry) {
  const toJson = (fields: AuditFields | undefined) =>
    fields === undefined ? null : JSON.stringify(redact(fields));
  return {
    auditId: createId(),
    actor: JSON.stringify(toActor(origin)),
    requestId: origin.requestId,
    sourceAddress: origin.sourceAddress ?? null,
    action: entry.action,
    auditOrgId: entry.orgId,
    targetKind: entry.target.kind,
    targetId: entry.target.id,
    auditBefore: toJson(entry.before),
    auditAfter: toJson(entry.after),
    result: entry.result,
  };
}

function toRow(author: Author, entry: AuditEntry) {
  return {
    id: createId(),
    ...author,
    action: entry.action,
    orgId: entry.orgId,
    targetKind: entry.target.kind,
    targetId: entry.target.id,
    before: redact(entry.before ?? null),
    after: redact(entry.after ?? null),
    result: entry.result,
  };
}

/**
 * Keeps a trace of a request of the platform's staff that changed nothing. Somebody who was turned away at the door is
 * no staff: that row belongs to no organization, so that nobody can write into another's log.
 */
export async function recordStaffRequest(
  deps: Pick<Deps, "db">,
  origin: Origin,
  request: StaffRequest,
): Promise<void> {
  const orgId = idSchema.safeParse(request.orgId);
  await recordAudit(deps.db, origin, {
    action: `admin.${request.operation.operationId}`,
    orgId: origin.asStaff === true && orgId.success ? orgId.data : null,
    target: { kind: "path", id: request.path.slice(0, MAX_PATH_LENGTH) },
    after: { status: request.status },
    result: request.status < 400 ? "done" : "failed",
  });
}

function toActor({ principal, asStaff }: Origin): AuditActor {
  if (principal.kind === "token")
    return { kind: "token", tokenId: principal.tokenId, userId: principal.userId };
  return {
    kind: asStaff === true ? "staff" : "user",
    userId: principal.userId,
    email: principal.email ?? null,
  };
}
