import { z } from "@hono/zod-openapi";
import { idField, MAX_TIME_LENGTH, textField, timestampField } from "../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";
import type { AuditActor, AuditRow } from "./table.ts";

const ACTOR_KINDS = ["user", "token", "kubernetes", "system", "provider", "staff"] as const;
const MAX_TEXT_LENGTH = 253;

const auditActorSchema = z.object({
  kind: z.enum(ACTOR_KINDS).openapi({
    description:
      "A user, an API token, a field manager of the Kubernetes API, the service itself, or the platform's staff (`provider` to tenants, `staff` to staff).",
  }),
  id: z.guid().nullable().openapi({ description: "Of the user, or of the API token." }),
  email: textField(254, "The user's address, as it was then.").nullable(),
  name: textField(MAX_TEXT_LENGTH, "The field manager, or the part of the service.").nullable(),
});

const MAX_FIELDS = 64;
const fieldsSchema = z.record(z.string(), z.unknown()).nullable();

export const auditEntrySchema = z
  .object({
    id: idField("The entry."),
    at: timestampField("When it happened."),
    actor: auditActorSchema.openapi({ description: "Who did it." }),
    action: textField(MAX_TEXT_LENGTH, "What was done: `<resource>.<verb>`."),
    org_id: idField("The organization that it is about.").nullable(),
    target: z
      .object({
        kind: textField(64, "Kind of the record."),
        id: textField(512, "Id of the record."),
      })
      .openapi({ description: "What it was done to." }),
    before: fieldsSchema.openapi({
      description: "Fields before the change; never a secret.",
      maxProperties: MAX_FIELDS,
    }),
    after: fieldsSchema.openapi({
      description: "Fields after the change; never a secret.",
      maxProperties: MAX_FIELDS,
    }),
    request_id: textField(128, "The request that did it.").nullable(),
    source_address: textField(64, "Where the request came from.").nullable(),
    result: z.enum(["done", "failed"]).openapi({ description: "What became of it." }),
  })
  .openapi("AuditEntry", {
    example: {
      id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
      at: "2026-11-21T09:00:00.000Z",
      actor: {
        kind: "user",
        id: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
        email: "alice@example.com",
        name: null,
      },
      action: "organization.update",
      org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
      target: { kind: "organization", id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12" },
      before: { name: "Example" },
      after: { name: "Example Ltd" },
      request_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
      source_address: "192.0.2.7",
      result: "done",
    },
  });

export const auditPageSchema = pageSchema(auditEntrySchema, "AuditPage");

const timeSchema = z.iso
  .datetime({ offset: true })
  .max(MAX_TIME_LENGTH)
  .transform((text) => new Date(text));

export const auditQuery = pageQuery.extend({
  cursor: idSchema.optional().openapi({
    description: "The id of the last entry seen; what comes after it follows, also when it was the last one.",
  }),
  actor: z
    .string()
    .min(1)
    .max(MAX_TEXT_LENGTH)
    .optional()
    .openapi({ description: "Id of a user or an API token, or a field manager." }),
  action: z
    .string()
    .min(1)
    .max(MAX_TEXT_LENGTH)
    .optional()
    .openapi({ description: "What was done.", example: "organization.update" }),
  target: z.string().min(1).max(512).optional().openapi({ description: "Id of the target." }),
  from: timeSchema.optional().openapi({ type: "string", format: "date-time", description: "Not before." }),
  to: timeSchema.optional().openapi({ type: "string", format: "date-time", description: "Before." }),
});

export const adminAuditQuery = auditQuery.extend({
  org_id: idSchema.optional().openapi({ description: "Only entries about this organization." }),
});

/** The wire form of an entry. A tenant sees that the provider acted, not who of its people nor from where. */
export function presentAuditEntry(
  row: AuditRow,
  audience: "tenant" | "staff",
): z.output<typeof auditEntrySchema> {
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
    source_address: isHidden ? null : row.sourceAddress,
    result: row.result === "failed" ? "failed" : "done",
  };
}

function presentActor(actor: AuditActor | { kind: "provider" }): z.output<typeof auditActorSchema> {
  const nobody = { kind: actor.kind, id: null, email: null, name: null };
  switch (actor.kind) {
    case "user":
    case "staff":
      return { ...nobody, id: actor.userId, email: actor.email };
    case "token":
      return { ...nobody, id: actor.tokenId };
    case "kubernetes":
      return { ...nobody, name: actor.manager };
    case "system":
      return { ...nobody, name: actor.name };
    case "provider":
      return nobody;
  }
}
