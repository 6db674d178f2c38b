import { z } from "@hono/zod-openapi";
import { text, wholeNumber } from "../../../shared/crd/fields.ts";
import type { Rule } from "../../../shared/crd/rule.ts";
import { countField, idField, textField, timestampField } from "../../http/contract/fields.ts";
import { pageSchema } from "../../http/contract/page.ts";
import { idSchema } from "../../http/contract/validate.ts";

/** The most characters of a name: what file systems take. */
const MAX_FILENAME_LENGTH = 255;

const SEPARATORS = /[/\\]/;
/**
 * Control characters, line separators, and invisible ones such as those that change the direction of text (UAX #9). The
 * joiners U+200C and U+200D belong to words of many languages and to emoji.
 */
const HIDDEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const BLANK = /^[\s.\u200c\u200d]+$/;

/** Whether it is a file name without folders and without characters that are invisible or change the text direction. */
export function isPlainFilename(name: string): boolean {
  return !SEPARATORS.test(name) && !HIDDEN.test(name) && !BLANK.test(name);
}

const filenameRule: Omit<Rule<string>, "cel"> = {
  field: "",
  code: "invalid_format",
  message:
    "must be the name of a file alone, without folders, control characters and marks of text direction",
  holds: isPlainFilename,
};

export const MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024;
export const MAX_ATTACHMENTS_PER_MESSAGE = 10;
const MAX_URL_LENGTH = 8192;
const SHA256 = /^[0-9a-f]{64}$/;

/** Types that can be attached. All are downloads: a browser shows none of them in the store's origin. */
export const CONTENT_TYPES = [
  "application/gzip",
  "application/json",
  "application/pdf",
  "application/yaml",
  "application/zip",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/svg+xml",
  "image/webp",
  "text/csv",
  "text/html",
  "text/plain",
] as const;
export type AttachmentType = (typeof CONTENT_TYPES)[number];

const EXAMPLE = {
  filename: "nodes.png",
  content_type: "image/png" as const,
  size_bytes: 48_213,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
};
const RECORD_EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e15",
  ticket_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  message_id: null,
  created_by: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
  ...EXAMPLE,
  completed_at: null,
  created_at: "2026-11-21T09:00:00.000Z",
};

const recordFields = z.object({
  id: idField("The attachment."),
  ticket_id: idField("Its ticket."),
  message_id: idField("The message that it belongs to; null until one takes it.").nullable(),
  created_by: idField("The user who uploaded it; null when an API token did.").nullable(),
  filename: textField(MAX_FILENAME_LENGTH, "Its name for people."),
  content_type: z.enum(CONTENT_TYPES).openapi({ description: "Its type, as the uploader named it." }),
  size_bytes: countField(MAX_ATTACHMENT_BYTES, "Its size in bytes."),
  sha256: z
    .string()
    .length(64)
    .regex(SHA256)
    .openapi({ description: "The SHA-256 of its bytes, in hexadecimal digits." }),
  completed_at: timestampField("When its upload was completed.").nullable(),
  created_at: timestampField("When it was announced."),
});

export const attachmentRecord = recordFields.openapi("TicketAttachment", { example: RECORD_EXAMPLE });
export const attachmentPage = pageSchema(attachmentRecord, "TicketAttachmentPage");

const headerText = (description: string) => textField(128, description);

export const newAttachmentRecord = recordFields
  .extend({
    upload: z
      .object({
        method: z.literal("PUT").openapi({ description: "Of the request." }),
        url: textField(MAX_URL_LENGTH, "Where the bytes go, without a credential of this API."),
        headers: z
          .object({
            "Content-Type": headerText("As announced."),
            "Content-Length": headerText("As announced; most clients set it from the bytes."),
            "x-amz-checksum-sha256": headerText("As announced, in Base64."),
            "If-None-Match": headerText("Refuses a second upload."),
          })
          .openapi({ description: "To be sent as they are: the store refuses anything else." }),
        expires_at: timestampField("Until when the upload can begin."),
      })
      .openapi({ description: "The request to the object store that uploads the bytes." }),
  })
  .openapi("AnnouncedAttachment", {
    example: {
      ...RECORD_EXAMPLE,
      upload: {
        method: "PUT",
        url: "https://bucket.s3.example.com/quarantine/0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e15?X-Amz-Expires=900",
        headers: {
          "Content-Type": "image/png",
          "Content-Length": "48213",
          "x-amz-checksum-sha256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=",
          "If-None-Match": "*",
        },
        expires_at: "2026-11-21T09:15:00.000Z",
      },
    },
  });

export const createAttachmentBody = z
  .strictObject({
    filename: text(1, MAX_FILENAME_LENGTH, "Its name for people, without folders.").superRefine(
      (name, context) => {
        const { code, message, holds } = filenameRule;
        if (!holds(name)) context.addIssue({ code: "custom", message, params: { code } });
      },
    ),
    content_type: z.enum(CONTENT_TYPES).openapi({ description: "Its type." }),
    size_bytes: wholeNumber(1, MAX_ATTACHMENT_BYTES).openapi({ description: "Its size in bytes." }),
    sha256: z
      .string()
      .max(64)
      .regex(SHA256, { error: "must be 64 hexadecimal digits in lower case" })
      .openapi({
        description: "The SHA-256 of its bytes, in hexadecimal digits.",
        minLength: 64,
        maxLength: 64,
      }),
  })
  .openapi("CreateTicketAttachment", { example: EXAMPLE });

/** The attachments that a message takes. */
export const attachmentIdsSchema = z
  .array(idSchema)
  .max(MAX_ATTACHMENTS_PER_MESSAGE)
  .superRefine((ids, context) => {
    for (const [index, id] of ids.entries()) {
      if (ids.indexOf(id) === index) continue;
      const params = { code: "duplicate" };
      context.addIssue({ code: "custom", path: [index], message: "must be given once", params });
    }
  })
  .default([])
  .openapi({
    description: "Completed attachments of this ticket that the same caller has uploaded and no message has.",
  });
