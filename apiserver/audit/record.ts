import { createId } from "../../shared/id.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import type { StaffRequest } from "../http/contract/router.ts";
import { idSchema } from "../http/contract/validate.ts";
import { redact } from "./redact.ts";
import { insertAuditEntries, type NewAuditRow } from "./store.ts";
import type { AuditActor, AuditFields } from "./table.ts";

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
 * Writes one audit row in the transaction of the change that it records, so that neither exists without the other.
 * Returns its id.
 */
export async function recordAudit(tx: Queryable, origin: Origin, entry: AuditEntry): Promise<string> {
  const { requestId, sourceAddress = null } = origin;
  const row = toRow({ actor: toActor(origin), requestId, sourceAddress }, entry);
  await insertAuditEntries(tx, [row]);
  return row.id;
}

/** A change made directly in the Kubernetes API, and the field manager that made it. */
export interface OutsideAudit {
  manager: string;
  entry: AuditEntry;
}

/** The same for changes made directly in the Kubernetes API: the actor of each is its field manager. */
export async function recordOutsideAudits(tx: Queryable, audits: readonly OutsideAudit[]): Promise<void> {
  await insertAuditEntries(
    tx,
    audits.map(({ manager, entry }) =>
      toRow({ actor: { kind: "kubernetes", manager }, requestId: null, sourceAddress: null }, entry),
    ),
  );
}

/**
 * Records a request of the platform's staff that changed nothing. A request that was refused for lack of the role is
 * recorded without an organization, so that no outsider can write into the log of one.
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

function toRow(
  author: Pick<NewAuditRow, "actor" | "requestId" | "sourceAddress">,
  entry: AuditEntry,
): NewAuditRow {
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

function toActor({ principal, asStaff }: Origin): AuditActor {
  if (principal.kind === "token")
    return { kind: "token", tokenId: principal.tokenId, userId: principal.userId };
  return {
    kind: asStaff === true ? "staff" : "user",
    userId: principal.userId,
    email: principal.email ?? null,
  };
}
