import { z } from "@hono/zod-openapi";
import { wholeNumber } from "../../shared/crd/fields.ts";
import { ROLES, SCOPES } from "../http/authorization/permissions.ts";
import { idField, nameField, textField, timestampField } from "../http/contract/fields.ts";
import { pageSchema } from "../http/contract/page.ts";

const DEFAULT_LIFETIME_DAYS = 90;
const MAX_LIFETIME_DAYS = 365;
const MAX_NAME_LENGTH = 63;

const EXAMPLE = {
  id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e11",
  org_id: "0193a1f2-7c3e-7d44-8a0b-5f1f0c9d2e12",
  name: "deploy",
  token_prefix: "mar_02xkXLtYcRgMjnRpT3m9wV",
  role: "member" as const,
  scopes: ["clusters:write" as const, "nodepools:write" as const],
  created_by: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
  created_at: "2026-11-21T09:00:00.000Z",
  expires_at: "2027-02-19T09:00:00.000Z",
  last_used_at: null,
};

const apiTokenFields = z.object({
  id: idField("The API token."),
  org_id: idField("The organization that it belongs to."),
  name: textField(MAX_NAME_LENGTH, "Display name."),
  token_prefix: textField(75, "The first characters of the token, which identify it and are no secret."),
  role: z.enum(ROLES).openapi({ description: "The role that limits its permissions." }),
  scopes: z
    .array(z.enum(SCOPES))
    .max(SCOPES.length)
    .openapi({ description: "The permissions that it can use." }),
  created_by: idField("The user who created it; it is revoked with that user's membership."),
  created_at: timestampField("When it was created."),
  expires_at: timestampField("When it expires."),
  last_used_at: timestampField("When it was last used, to the minute.").nullable(),
});

export const apiTokenRecord = apiTokenFields.openapi("ApiToken", { example: EXAMPLE });
export const apiTokenPage = pageSchema(apiTokenRecord, "ApiTokenPage");

export const createdApiTokenRecord = apiTokenFields
  .extend({
    token: z
      .string()
      .max(75)
      .regex(/^mar_[0-9A-Za-z]{71}$/)
      .openapi({ description: "The secret. It is returned only once." }),
  })
  .openapi("MintedApiToken", {
    example: { ...EXAMPLE, token: `${EXAMPLE.token_prefix}${"0".repeat(75 - EXAMPLE.token_prefix.length)}` },
  });

export const createApiTokenBody = z
  .strictObject({
    name: nameField(MAX_NAME_LENGTH, "Display name."),
    role: z.enum(ROLES).openapi({ description: "At most the caller's own role." }),
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .superRefine((scopes, context) => {
        for (const [index, scope] of scopes.entries()) {
          if (scopes.indexOf(scope) === index) continue;
          const params = { code: "duplicate" };
          context.addIssue({ code: "custom", path: [index], message: "must be given once", params });
        }
      })
      .openapi({ description: "Each at most once. Any scope of a resource also grants reading it." }),
    expires_in_days: wholeNumber(1, MAX_LIFETIME_DAYS)
      .default(DEFAULT_LIFETIME_DAYS)
      .openapi({ description: "Days until the token expires." }),
  })
  .openapi("CreateApiToken", {
    example: { name: "deploy", role: "member", scopes: ["clusters:write", "nodepools:write"] },
  });
