import { z } from "@hono/zod-openapi";
import { ROLES } from "../http/authentication/principal.ts";
import { SCOPES } from "../http/authorization/permissions.ts";
import { idField, textField, timestampField } from "../http/contract/fields.ts";
import { pageSchema } from "../http/contract/page.ts";
import { toTokenPrefix } from "./secret.ts";
import type { ApiTokenRow } from "./table.ts";

export const DEFAULT_LIFETIME_DAYS = 90;
export const MAX_LIFETIME_DAYS = 365;
const MAX_NAME_LENGTH = 63;
const DAY_MS = 86_400_000;

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
  org_id: idField("The organization that it acts in."),
  name: textField(MAX_NAME_LENGTH, "Name shown to people."),
  token_prefix: textField(75, "What the token begins with; it opens nothing."),
  role: z.enum(ROLES).openapi({ description: "The role that bounds its rights." }),
  scopes: z.array(z.enum(SCOPES)).max(SCOPES.length).openapi({ description: "What it is for." }),
  created_by: idField("The user who made it; it ends with that user's membership."),
  created_at: timestampField("When it was made."),
  expires_at: timestampField("When it ends."),
  last_used_at: timestampField("When it was used last, exact to a minute.").nullable(),
});

export const apiTokenSchema = apiTokenFields.openapi("ApiToken", { example: EXAMPLE });
export const apiTokenPageSchema = pageSchema(apiTokenSchema, "ApiTokenPage");

export const mintedApiTokenSchema = apiTokenFields
  .extend({
    token: z
      .string()
      .max(75)
      .regex(/^mar_[0-9A-Za-z]{71}$/)
      .openapi({ description: "The secret. It is shown here and never again." }),
  })
  .openapi("MintedApiToken", {
    example: { ...EXAMPLE, token: `${EXAMPLE.token_prefix}${"0".repeat(75 - EXAMPLE.token_prefix.length)}` },
  });

export const createApiTokenSchema = z
  .strictObject({
    name: z.string().min(1).max(MAX_NAME_LENGTH).openapi({ description: "Name shown to people." }),
    role: z.enum(ROLES).openapi({ description: "Not above the caller's own role." }),
    scopes: z
      .array(z.enum(SCOPES))
      .min(1)
      .max(SCOPES.length)
      .superRefine((scopes, context) => {
        for (const [index, scope] of scopes.entries()) {
          if (scopes.indexOf(scope) === index) continue;
          const params = { code: "duplicate" };
          context.addIssue({ code: "custom", path: [index], message: "must not be repeated", params });
        }
      })
      .openapi({ uniqueItems: true, description: "Any scope of a resource opens reading it as well." }),
    expires_in_days: z
      .int()
      .min(1)
      .max(MAX_LIFETIME_DAYS)
      .default(DEFAULT_LIFETIME_DAYS)
      .openapi({ description: "Days until the token ends." }),
  })
  .openapi("CreateApiToken", {
    example: { name: "deploy", role: "member", scopes: ["clusters:write", "nodepools:write"] },
  });

/** When a token made at `from` ends. */
export function toExpiry(from: Date, days: number): Date {
  return new Date(from.getTime() + days * DAY_MS);
}

/** The wire form of a token: never its secret, never its hash. */
export function presentApiToken(row: ApiTokenRow): z.output<typeof apiTokenSchema> {
  return {
    id: row.id,
    org_id: row.orgId,
    name: row.name,
    token_prefix: toTokenPrefix(row.id),
    role: row.role,
    scopes: row.scopes,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
  };
}

/** The fields of a token that the audit log holds. */
export function presentAudit(row: ApiTokenRow) {
  const { name, role, scopes, expires_at } = presentApiToken(row);
  return { name, role, scopes, expires_at };
}
