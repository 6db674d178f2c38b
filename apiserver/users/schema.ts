import { z } from "@hono/zod-openapi";
import { MAX_QUOTA, quotaLimitSchema } from "../../shared/crd/quota.ts";
import {
  countField,
  idField,
  immutableField,
  readOnlyField,
  textField,
  timestampField,
} from "../http/contract/fields.ts";
import { idSchema } from "../http/contract/validate.ts";

const organizationsField = quotaLimitSchema.nullable().openapi({
  description:
    "Maximum number of organizations that the user has created and that are not deleted; null is the platform's default.",
  example: 20,
});

const amounts = z
  .object({
    organizations: countField(MAX_QUOTA, "Organizations."),
    organizations_per_30_days: countField(
      MAX_QUOTA,
      "Organizations that the user has created within 30 days, deleted ones included; at most four times the quota.",
    ),
  })
  .openapi("UserQuotaAmounts");
const amountsRecord = (description: string) => amounts.openapi({ description });

export const userQuotasRecord = z
  .object({
    user_id: idField("The user."),
    organizations: organizationsField,
    effective: amountsRecord("The limits in force."),
    defaults: amountsRecord("The platform's defaults."),
    used: amountsRecord("What is in use."),
    updated_at: timestampField("When a limit was last set; null if never.").nullable(),
  })
  .openapi("UserQuotas", {
    example: {
      user_id: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
      organizations: 20,
      effective: { organizations: 20, organizations_per_30_days: 80 },
      defaults: { organizations: 5, organizations_per_30_days: 20 },
      used: { organizations: 2, organizations_per_30_days: 3 },
      updated_at: "2026-11-21T09:00:00.000Z",
    },
  });

/** Omitted limits are unchanged. What a GET returns may be sent back. */
export const setUserQuotasBody = z
  .strictObject({
    organizations: organizationsField.optional(),
    user_id: immutableField(idSchema),
    effective: readOnlyField,
    defaults: readOnlyField,
    used: readOnlyField,
    updated_at: readOnlyField,
  })
  .openapi("SetUserQuotas", { example: { organizations: 20 } });

const MAX_ISSUER_LENGTH = 2048;
const ISSUER = "https://identity.example.com";

export const userIdentityRecord = z
  .object({
    user_id: idField("The user: `sub` of the tokens where it is a UUID, else made of the subject."),
    issuer: textField(MAX_ISSUER_LENGTH, "The issuer whose tokens are accepted for this user.", ISSUER),
    email: textField(254, "The address in the first token; null after a change of the issuer.").nullable(),
    created_at: timestampField("When a token with this id was first presented."),
  })
  .openapi("UserIdentity", {
    example: {
      user_id: "0b54ad2a-6f2f-4b57-9a3e-3c1f2a7d1a01",
      issuer: ISSUER,
      email: "alice@example.com",
      created_at: "2026-11-21T09:00:00.000Z",
    },
  });

/** What a GET returns may be sent back. */
export const setUserIdentityBody = z
  .strictObject({
    issuer: z
      .string()
      .min(1)
      .max(MAX_ISSUER_LENGTH)
      .openapi({ description: "One of the configured issuers, as `iss` of its tokens." }),
    user_id: immutableField(idSchema),
    email: readOnlyField,
    created_at: readOnlyField,
  })
  .openapi("SetUserIdentity", { example: { issuer: ISSUER } });
