import { z } from "@hono/zod-openapi";
import { text } from "../../shared/crd/fields.ts";
import {
  idField,
  immutableField,
  nameField,
  readOnlyField,
  textField,
  timestampField,
} from "../http/contract/fields.ts";
import { pageQuery, pageSchema } from "../http/contract/page.ts";
import { idSchema } from "../http/contract/validate.ts";
import { attachmentIdsSchema } from "./attachments/schema.ts";
import { AUTHOR_TYPES, TICKET_CATEGORIES, TICKET_SEVERITIES, TICKET_STATUSES } from "./table.ts";

const MAX_SUBJECT_LENGTH = 200;
const MAX_BODY_LENGTH = 32_768;

const EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  cluster_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e13",
  subject: "Two nodes do not become ready",
  category: "cluster" as const,
  severity: "high" as const,
  status: "open" as const,
  created_by: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
  assigned_to: null,
  first_response_at: null,
  resolved_at: null,
  respond_by: "2026-11-21T13:00:00.000Z",
  overdue: false,
  created_at: "2026-11-21T09:00:00.000Z",
  updated_at: "2026-11-21T09:00:00.000Z",
};
const BODY_EXAMPLE = "Since the upgrade of this morning two nodes of the pool web are not ready.";

const status = z.enum(TICKET_STATUSES);
const severity = z.enum(TICKET_SEVERITIES);
const category = z.enum(TICKET_CATEGORIES);

export const ticketRecord = z
  .object({
    id: idField("The ticket."),
    org_id: idField("The organization that opened it."),
    cluster_id: idField("The cluster that it is about; null for none.").nullable(),
    subject: textField(MAX_SUBJECT_LENGTH, "What it is about, in one line."),
    category: category.openapi({ description: "The field that it is about." }),
    severity: severity.openapi({ description: "How severe it is; sets the time in which staff responds." }),
    status: status.openapi({
      description: "`open` and `in_progress`: with the staff. `waiting`: for the organization.",
    }),
    created_by: idField("The user who opened it; null when an API token did.").nullable(),
    assigned_to: idField("The member of the staff who works on it.").nullable(),
    first_response_at: timestampField("When the staff first responded.").nullable(),
    resolved_at: timestampField("When it was resolved.").nullable(),
    respond_by: timestampField(
      "When the staff responds at the latest; null while the ticket waits for the organization or is done.",
    ).nullable(),
    overdue: z.boolean().openapi({ description: "Whether that time has passed." }),
    created_at: timestampField("When it was opened."),
    updated_at: timestampField("When it last changed, or got its last message."),
  })
  .openapi("Ticket", { example: EXAMPLE });
export const ticketPage = pageSchema(ticketRecord, "TicketPage");

const messageFields = z.object({
  id: idField("The message."),
  ticket_id: idField("Its ticket."),
  author_id: idField("The user who wrote it; null when an API token did.").nullable(),
  author_type: z.enum(AUTHOR_TYPES).openapi({ description: "The organization, or the platform's staff." }),
  body: textField(MAX_BODY_LENGTH, "The text."),
  created_at: timestampField("When it was written."),
});
const MESSAGE_EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e14",
  ticket_id: EXAMPLE.id,
  author_id: EXAMPLE.created_by,
  author_type: "tenant" as const,
  body: BODY_EXAMPLE,
  created_at: EXAMPLE.created_at,
};

export const ticketMessageRecord = messageFields.openapi("TicketMessage", { example: MESSAGE_EXAMPLE });
export const ticketMessagePage = pageSchema(ticketMessageRecord, "TicketMessagePage");

export const adminTicketMessageRecord = messageFields
  .extend({ internal: z.boolean().openapi({ description: "A note that the organization does not see." }) })
  .openapi("AdminTicketMessage", { example: { ...MESSAGE_EXAMPLE, internal: false } });
export const adminTicketMessagePage = pageSchema(adminTicketMessageRecord, "AdminTicketMessagePage");

const bodySchema = text(1, MAX_BODY_LENGTH, "The text.");

export const createTicketBody = z
  .strictObject({
    subject: nameField(MAX_SUBJECT_LENGTH, "What it is about, in one line."),
    category: category.openapi({ description: "The field that it is about." }),
    severity: severity.openapi({ description: "How severe it is." }),
    body: bodySchema.openapi({ description: "The first message." }),
    cluster_id: idSchema.nullable().optional().openapi({
      description: "A cluster of the organization that it is about, also one deleted within 90 days.",
    }),
  })
  .openapi("CreateTicket", {
    example: { subject: EXAMPLE.subject, category: "cluster", severity: "high", body: BODY_EXAMPLE },
  });

export const createTicketMessageBody = z
  .strictObject({ body: bodySchema, attachment_ids: attachmentIdsSchema })
  .openapi("CreateTicketMessage", { example: { body: "The third node is not ready either." } });

export const createAdminTicketMessageBody = z
  .strictObject({
    body: bodySchema,
    internal: z
      .boolean()
      .default(false)
      .openapi({ description: "A note for the staff; the organization sees no trace of it." }),
    attachment_ids: attachmentIdsSchema,
  })
  .openapi("CreateAdminTicketMessage", { example: { body: "We are replacing them.", internal: false } });

/** Fields that a GET returns and a PUT cannot change. */
const fixedFields = {
  id: immutableField(idSchema),
  org_id: immutableField(idSchema),
  cluster_id: immutableField(idSchema.nullable()),
  subject: immutableField(text(0, MAX_SUBJECT_LENGTH, "What it is about.")),
  created_by: readOnlyField,
  first_response_at: readOnlyField,
  resolved_at: readOnlyField,
  respond_by: readOnlyField,
  overdue: readOnlyField,
  created_at: readOnlyField,
  updated_at: readOnlyField,
};
const statusField = status.optional().openapi({ description: "The status that it is to have." });

/** Omitted fields are unchanged. What a GET returns may be sent back. */
export const updateTicketBody = z
  .strictObject({
    status: statusField,
    ...fixedFields,
    category: immutableField(category),
    severity: immutableField(severity),
    assigned_to: readOnlyField,
  })
  .openapi("UpdateTicket", { example: { status: "closed" } });

/** A change of a ticket by the platform's staff. Omitted fields are unchanged. */
export const updateAdminTicketBody = z
  .strictObject({
    status: statusField,
    severity: severity.optional().openapi({ description: "How severe it is." }),
    category: category.optional().openapi({ description: "The field that it is about." }),
    assigned_to: idSchema.nullable().optional().openapi({
      description: "A member of the staff: a user who has called one of its operations within 90 days.",
    }),
    ...fixedFields,
  })
  .openapi("UpdateAdminTicket", { example: { status: "in_progress", severity: "critical" } });

const filters = {
  status: status.optional().openapi({ description: "Only those with this status." }),
  severity: severity.optional().openapi({ description: "Only those of this severity." }),
  category: category.optional().openapi({ description: "Only those of this category." }),
};

export const ticketListQuery = pageQuery.extend({
  ...filters,
  cluster_id: idSchema.optional().openapi({ description: "Only those about this cluster." }),
});

const UNASSIGNED = "unassigned";
const ASSIGNED = /^(?:unassigned|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/;

export const adminTicketListQuery = pageQuery.extend({
  ...filters,
  org_id: idSchema.optional().openapi({ description: "Only those of this organization." }),
  assigned: z
    .string()
    .max(36)
    .regex(ASSIGNED, { error: "must be `unassigned` or the id of a user" })
    .transform((value) => (value === UNASSIGNED ? null : value.toLowerCase()))
    .optional()
    .openapi({
      type: "string",
      maxLength: 36,
      pattern: ASSIGNED.source,
      description: "Only those that this user works on, or, with `unassigned`, no user.",
      example: UNASSIGNED,
    }),
  overdue: z
    .enum(["true", "false"])
    .transform((value) => value === "true")
    .optional()
    .openapi({ type: "boolean", description: "Only those that are overdue, or only those that are not." }),
  q: z.string().min(1).max(200).optional().openapi({
    description:
      'Only those with these words in one of their messages, or in the subject and the first one. `"a b"` is a phrase, `or` an alternative, `-` excludes a word.',
    example: "nodes -upgrade",
  }),
});
