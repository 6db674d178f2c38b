import { createId } from "../../shared/program/id.ts";
import { isSecretName } from "../../shared/program/log.ts";
import type { Config } from "../config.ts";
import type { Database, Queryable } from "../db/client.ts";
import type { Author } from "../http/authentication/principal.ts";
import { type ExternalDeletion, findDeleters, nameDeleter } from "./deleters/find-deleters.ts";
import { findRequestsOf, insertAwaitedDeletions, listDueDeletions, takeDeletions } from "./deleters/store.ts";
import { findLogStart, insertAuditEntries, insertAuditEntry, isAudited, type NewAuditRow } from "./store.ts";
import type { AuditActor, AuditEntry, AuditFields } from "./table.ts";

/**
 * Writes one audit row in the transaction of the change that it records, so that neither exists without the other.
 * Returns its id.
 */
export async function recordAudit(tx: Queryable, author: Author, entry: AuditEntry): Promise<string> {
  const { clientRequestId = null, sourceAddress = null } = author;
  const requestId = author.asSystem === undefined ? author.requestId : null;
  const row = toRow({ actor: toActor(author), requestId, clientRequestId, sourceAddress }, entry);
  await insertAuditEntry(tx, row);
  return row.id;
}

/** The field manager that stands for who is not known. */
export const UNKNOWN_MANAGER = "unknown";

const NO_REQUEST = { requestId: null, clientRequestId: null, sourceAddress: null };

/** A change made directly in the Kubernetes API, and the field manager that made it. */
export interface ExternalAudit {
  manager: string;
  entry: AuditEntry;
}

/** Writes audit rows of changes made directly in the Kubernetes API: the actor of each is its field manager. */
export async function recordExternalAudits(tx: Queryable, audits: readonly ExternalAudit[]): Promise<void> {
  const entries = audits.map(
    ({ manager, entry }) => ({ actor: { kind: "kubernetes", manager }, entry }) as const,
  );
  await recordAuditsOf(tx, entries);
}

/** Whether the Kubernetes API server sends its audit events here, which name who deletes: it does with a token. */
export type KubernetesAuditConfig = Partial<Pick<Config, "auditWebhookToken">>;

/**
 * Writes audit rows of deletions that were not requested by REST: at once, by an unknown actor; or, where the
 * Kubernetes API names who deletes, once the deleter is known or is not waited for any more.
 */
export async function recordExternalDeletions(
  tx: Queryable,
  deletions: readonly ExternalDeletion[],
  { auditWebhookToken }: KubernetesAuditConfig,
): Promise<void> {
  if (auditWebhookToken !== undefined) await insertAwaitedDeletions(tx, deletions);
  else
    await recordDeletions(
      tx,
      deletions.map((deletion) => ({ deletion, deleters: [], at: deletion.seenAt })),
    );
}

/**
 * Writes the entries of awaited deletions that are due, each once, at the time at which each was seen; of one whose
 * month the log does not have any more, at the start of the log.
 */
export async function recordDueDeletions(db: Database, now: Date): Promise<void> {
  const candidates = await listDueDeletions(db, now);
  if (candidates.length === 0) return;
  const requests = await findRequestsOf(db, candidates);
  const start = await findLogStart(db);
  const due = candidates
    .map((deletion) => ({
      deletion,
      deleters: findDeleters(deletion, requests),
      at: new Date(Math.max(deletion.seenAt.getTime(), start.getTime())),
    }))
    .filter(({ deletion, deleters }) => deletion.isOverdue || deleters.length > 0);
  if (due.length === 0) return;
  await db.transaction(async (tx) => {
    const taken = await takeDeletions(
      tx,
      due.map(({ deletion }) => deletion),
    );
    await recordDeletions(
      tx,
      due.filter(({ deletion }) => taken.has(deletion.id)),
    );
  });
}

interface AttributedDeletion {
  deletion: ExternalDeletion;
  deleters: ReturnType<typeof findDeleters>;
  at: Date;
}

async function recordDeletions(tx: Queryable, deletions: readonly AttributedDeletion[]): Promise<void> {
  const rows = deletions.map(({ deletion, deleters, at }): NewAuditRow => {
    const { username, after } = nameDeleter(deletion, deleters);
    const actor: AuditActor =
      username === undefined
        ? { kind: "kubernetes", manager: UNKNOWN_MANAGER }
        : { kind: "kubernetes_user", name: username };
    const entry = after === undefined ? deletion.entry : { ...deletion.entry, after };
    return { ...toRow({ actor, ...NO_REQUEST }, entry), at };
  });
  await insertAuditEntries(tx, rows);
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

/**
 * Does outside Postgres what a loop tries until it is done: an audit row `accepted` is committed before the first attempt, and `done`
 * after the effect; a crash in between leaves the first alone. Another attempt is of the same target with the same `before`, which
 * tells one object from a later one of its name. Throws what `effect` throws.
 */
export async function doAsSystem(
  db: Queryable,
  name: string,
  entry: Omit<AuditEntry, "orgId" | "result" | "before"> & { orgId: string; before: AuditFields },
  effect: () => Promise<unknown>,
): Promise<void> {
  const { action, orgId, target } = entry;
  const sought = { action, orgId, targetId: target.id, before: redactObject(entry.before) };
  const record = (result: AuditEntry["result"]) => recordSystemAudits(db, name, [{ ...entry, result }]);
  const isRetry = await isAudited(db, { ...sought, result: "accepted" });
  if (!isRetry) await record("accepted");
  await effect();
  await record("done");
}

/** What an actor did that belongs to no single request. */
interface ActorAudit {
  actor: AuditActor;
  entry: AuditEntry;
}

/** Writes rows that name an actor and no request. */
export async function recordAuditsOf(tx: Queryable, audits: readonly ActorAudit[]): Promise<void> {
  const rows = audits.map(({ actor, entry }) => toRow({ actor, ...NO_REQUEST }, entry));
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
export function toActor({ principal, asStaff, asSystem }: Author): AuditActor {
  if (asSystem !== undefined) return { kind: "system", name: asSystem };
  if (principal.kind === "token")
    return { kind: "token", tokenId: principal.tokenId, userId: principal.userId };
  return {
    kind: asStaff === true ? "staff" : "user",
    userId: principal.userId,
    email: principal.email ?? null,
  };
}

/**
 * A token's beginning is looked for once in each run of its characters, whose first one decides: an annotation of a pipeline may
 * have 16,000 of them.
 */
const SECRET_VALUES =
  /mar_[0-9A-Za-z]{71}|whsec_[0-9a-f]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|(?<![\w-])(?=([\w-]*?\beyJ))\1[\w-]{8,}\.[\w-]+\.|client-key-data/;
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
