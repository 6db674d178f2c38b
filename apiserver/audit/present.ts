import type { z } from "@hono/zod-openapi";
import type { auditActorRecord, auditEntryRecord } from "./schema.ts";
import type { AuditActor, AuditFields, AuditRow } from "./table.ts";

/** The wire form of an entry. To tenants, staff is just `provider`: neither the person nor the address is shown. */
export function presentAuditEntry(
  row: AuditRow,
  audience: "tenant" | "staff",
): z.output<typeof auditEntryRecord> {
  const isHidden = audience === "tenant" && row.actor.kind === "staff";
  const actor = audience === "tenant" ? hidePerson(row.actor) : row.actor;
  const after = audience === "tenant" ? hidePersons(row) : row.after;
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: presentActor(actor),
    action: row.action,
    org_id: row.orgId,
    target: { kind: row.targetKind, id: row.targetId },
    before: row.before ?? null,
    after: after ?? null,
    request_id: row.requestId,
    client_request_id: isHidden ? null : row.clientRequestId,
    source_address: isHidden ? null : row.sourceAddress,
    result: row.result,
  };
}

/** The user names of ServiceAccounts (k8s.io/apiserver, serviceaccount.ServiceAccountUsernamePrefix). */
export const SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:";

type PresentedActor = AuditActor | { kind: "provider" } | { kind: "kubernetes_user"; name: null };

/** Whose users the Kubernetes API has authenticated is not known here: they may be of the provider. */
function hidePerson(actor: AuditActor): PresentedActor {
  if (actor.kind === "staff") return { kind: "provider" };
  if (actor.kind !== "kubernetes_user" || isServiceAccount(actor.name)) return actor;
  return { kind: "kubernetes_user", name: null };
}

/** The fields after a change, without the names of persons that only the audit events of the Kubernetes API tell. */
function hidePersons({ actor, after }: AuditRow): AuditFields | null {
  if (after === null || (actor.kind !== "kubernetes_user" && actor.kind !== "kubernetes")) return after;
  const { impersonated_by: impersonator, possible_deleters: deleters, ...shown } = after;
  return {
    ...shown,
    ...(isServiceAccount(impersonator) ? { impersonated_by: impersonator } : {}),
    ...(Array.isArray(deleters) ? { possible_deleters: deleters.filter(isServiceAccount) } : {}),
  };
}

function isServiceAccount(name: unknown): boolean {
  return typeof name === "string" && name.startsWith(SERVICE_ACCOUNT_PREFIX);
}

/** The wire form of an author. */
export function presentActor(actor: PresentedActor): z.output<typeof auditActorRecord> {
  const unnamed = { kind: actor.kind, id: null, email: null, name: null };
  switch (actor.kind) {
    case "user":
    case "staff":
      return { ...unnamed, id: actor.userId, email: actor.email };
    case "token":
      return { ...unnamed, id: actor.tokenId };
    case "kubernetes":
      return { ...unnamed, name: actor.manager };
    case "kubernetes_user":
    case "system":
      return { ...unnamed, name: actor.name };
    case "provider":
      return unnamed;
  }
}
