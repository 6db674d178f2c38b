import type { z } from "@hono/zod-openapi";
import type { auditActorRecord, auditEntryRecord } from "./schema.ts";
import type { AuditActor, AuditRow } from "./table.ts";

/** The wire form of an entry. To tenants, staff is just `provider`: neither the person nor the address is shown. */
export function presentAuditEntry(
  row: AuditRow,
  audience: "tenant" | "staff",
): z.output<typeof auditEntryRecord> {
  const isHidden = audience === "tenant" && row.actor.kind === "staff";
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: isHidden ? presentActor({ kind: "provider" }) : presentActor(row.actor),
    action: row.action,
    org_id: row.orgId,
    target: { kind: row.targetKind, id: row.targetId },
    before: row.before ?? null,
    after: row.after ?? null,
    request_id: row.requestId,
    client_request_id: isHidden ? null : row.clientRequestId,
    source_address: isHidden ? null : row.sourceAddress,
    result: row.result === "failed" ? "failed" : "done",
  };
}

/** The wire form of an author. */
export function presentActor(actor: AuditActor | { kind: "provider" }): z.output<typeof auditActorRecord> {
  const unnamed = { kind: actor.kind, id: null, email: null, name: null };
  switch (actor.kind) {
    case "user":
    case "staff":
      return { ...unnamed, id: actor.userId, email: actor.email };
    case "token":
      return { ...unnamed, id: actor.tokenId };
    case "kubernetes":
      return { ...unnamed, name: actor.manager };
    case "system":
      return { ...unnamed, name: actor.name };
    case "provider":
      return unnamed;
  }
}
