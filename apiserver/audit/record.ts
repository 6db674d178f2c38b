import { createId } from "../../shared/program/id.ts";
import { isSecretName } from "../../shared/program/log.ts";
import type { Queryable } from "../db/client.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { insertAuditEntries, insertAuditEntry, type NewAuditRow } from "./store.ts";
import type { AuditActor, AuditFields } from "./table.ts";

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
  const { clientRequestId = null, sourceAddress = null } = origin;
  const requestId = origin.asSystem === undefined ? origin.requestId : null;
  const row = toRow({ actor: toActor(origin), requestId, clientRequestId, sourceAddress }, entry);
  await insertAuditEntry(tx, row);
  return row.id;
}

/** A change made directly in the Kubernetes API, and the field manager that made it. */
export interface OutsideAudit {
  manager: string;
  entry: AuditEntry;
}

/** Writes audit rows of changes made directly in the Kubernetes API: the actor of each is its field manager. */
export async function recordOutsideAudits(tx: Queryable, audits: readonly OutsideAudit[]): Promise<void> {
  const entries = audits.map(
    ({ manager, entry }) => ({ actor: { kind: "kubernetes", manager }, entry }) as const,
  );
  await recordAuditsOf(tx, entries);
}

/** Writes audit rows of what one of Marina's own loops did or found; `name` is the loop's. */
export async function recordSystemAudits(
  tx: Queryable,
  name: string,
  entries: readonly AuditEntry[],
): Promise<void> {
  await recordAuditsOf(
    tx,
    entries.map((entry) => ({ actor: { kind: "system", name }, entry })),
  );
}

/** What an actor did that belongs to no single request. */
interface ActorAudit {
  actor: AuditActor;
  entry: AuditEntry;
}

/** Writes rows that name an actor and no request. */
export async function recordAuditsOf(tx: Queryable, audits: readonly ActorAudit[]): Promise<void> {
  const rows = audits.map(({ actor, entry }) =>
    toRow({ actor, requestId: null, clientRequestId: null, sourceAddress: null }, entry),
  );
  await insertAuditEntries(tx, rows);
}

function toRow(
  author: Pick<NewAuditRow, "actor" | "requestId" | "clientRequestId" | "sourceAddress">,
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

/** The author of a request, in the stored form. */
export function toActor({ principal, asStaff, asSystem }: Origin): AuditActor {
  if (asSystem !== undefined) return { kind: "system", name: asSystem };
  if (principal.kind === "token")
    return { kind: "token", tokenId: principal.tokenId, userId: principal.userId };
  return {
    kind: asStaff === true ? "staff" : "user",
    userId: principal.userId,
    email: principal.email ?? null,
  };
}

const SECRET_VALUES =
  /mar_[0-9A-Za-z]{71}|whsec_[0-9a-f]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.|client-key-data/;
const REDACTED = "[redacted]";

/**
 * The fields of an audit row with every value hidden that is named or looks like a secret. Slices pass allow-listed
 * fields only; this is the second line of defence.
 */
export function redact(fields: AuditFields | null): AuditFields | null {
  return fields === null ? null : redactObject(fields);
}

function redactObject(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      isSecretName(name) && value !== null ? REDACTED : redactValue(value),
    ]),
  );
}

function redactValue(value: unknown): unknown {
  if (typeof value === "string") return SECRET_VALUES.test(value) ? REDACTED : value;
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return redactObject(value as Record<string, unknown>);
}
