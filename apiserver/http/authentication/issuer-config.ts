import { z } from "zod";
import { isProtectedUrl } from "../../../shared/program/config.ts";

const protectedUrl = z.url().refine(isProtectedUrl, "must be https, or a loopback address");

export const issuerSchema = z.strictObject({
  issuer: protectedUrl,
  audience: z.string().min(1),
  /** Where the issuer publishes its keys; by default the URL in its discovery document. */
  jwksUrl: protectedUrl.optional(),
  /** Path of the realm roles in a token. */
  rolePath: z.string().min(1).default("realm_access.roles"),
  /** Realm roles count only from such an issuer. */
  admin: z.boolean().default(false),
  /** A verified address from such an issuer binds invitations. */
  trustEmail: z.boolean().default(false),
  types: z.array(z.string().min(1)).min(1).default(["JWT", "at+jwt"]),
});

export type IssuerConfig = z.output<typeof issuerSchema>;
