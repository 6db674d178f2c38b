import { z } from "@hono/zod-openapi";
import {
  idField,
  immutableField,
  readOnlyField,
  textField,
  timestampField,
} from "../http/contract/fields.ts";
import { idSchema } from "../http/contract/validate.ts";

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
