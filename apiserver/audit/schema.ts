import { z } from "@hono/zod-openapi";
import { idField, textField, timeSchema, timestampField } from "../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import { idSchema, lowerCaseIds } from "../http/contract/validate.ts";

const ACTOR_KINDS = [
  "user",
  "token",
  "kubernetes",
  "kubernetes_user",
  "system",
  "provider",
  "staff",
] as const;
const MAX_TEXT_LENGTH = 253;

export const auditActorRecord = z
  .object({
    kind: z.enum(ACTOR_KINDS).openapi({
      description:
        "A user, an API token, a field manager of the Kubernetes API (any text of the client's choice), a user of the Kubernetes API (authenticated there), the service itself, or the platform's staff (`provider` to tenants, `staff` to staff).",
    }),
    id: z.guid().nullable().openapi({ description: "Id of the user or of the API token." }),
    email: textField(254, "The user's e-mail address at that time.").nullable(),
    name: textField(
      MAX_TEXT_LENGTH,
      "The field manager, the user of the Kubernetes API, or the component of the service. To tenants, of the users of the Kubernetes API only ServiceAccounts are named.",
    ).nullable(),
  })
  .openapi("AuditActor", { description: "Who made the change." });

const MAX_FIELDS = 64;
const fieldsSchema = z.record(z.string(), z.unknown()).nullable();

export const auditEntryRecord = z
  .object({
    id: idField("The entry."),
    at: timestampField("When it happened."),
    actor: auditActorRecord,
    action: textField(MAX_TEXT_LENGTH, "The action: `<resource>.<verb>`."),
    org_id: idField("The organization concerned.").nullable(),
    target: z
      .object({
        kind: textField(64, "Kind of the record."),
        id: textField(512, "Id of the record."),
      })
      .openapi("AuditTarget", { description: "The record concerned." }),
    before: fieldsSchema.openapi({
      description: "Fields before the change; never a secret.",
      maxProperties: MAX_FIELDS,
    }),
    after: fieldsSchema.openapi({
      description: "Fields after the change; never a secret.",
      maxProperties: MAX_FIELDS,
    }),
    request_id: textField(128, "Id of the request, as its response had it in X-Request-Id.").nullable(),
    client_request_id: textField(
      128,
      "The X-Request-Id that the client sent; any text of its choice.",
    ).nullable(),
    source_address: textField(64, "IP address of the client.").nullable(),
    result: z.enum(["accepted", "done", "failed"]).openapi({
      description:
        "Whether it was done. What is done in the container registry has an entry `accepted` before it begins, and a second one when it is done or has failed. Without that one it was interrupted, and may have been done.",
    }),
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
      client_request_id: "deploy-42",
      source_address: "192.0.2.7",
      result: "done",
    },
  });

export const auditPage = pageSchema(auditEntryRecord, "AuditPage");

export const auditQuery = pageQuery.extend({
  cursor: idSchema.optional().openapi({
    description: "Id of the last entry seen; returns the entries after it, also those written since.",
  }),
  actor: z.string().min(1).max(MAX_TEXT_LENGTH).overwrite(lowerCaseIds).optional().openapi({
    description: "Id of a user or an API token, a field manager, or a user of the Kubernetes API.",
  }),
  action: z
    .string()
    .min(1)
    .max(MAX_TEXT_LENGTH)
    .optional()
    .openapi({ description: "The action.", example: "organization.update" }),
  target: z
    .string()
    .min(1)
    .max(512)
    .overwrite(lowerCaseIds)
    .optional()
    .openapi({ description: "Id of the target." }),
  from: timeSchema.optional().openapi({ type: "string", format: "date-time", description: "Not before." }),
  to: timeSchema.optional().openapi({ type: "string", format: "date-time", description: "Before." }),
});

export const adminAuditQuery = auditQuery.extend({
  org_id: idSchema.optional().openapi({ description: "Only entries of this organization." }),
});
