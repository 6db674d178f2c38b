import { z } from "zod";
import type { IssuerConfig } from "./issuer-config.ts";

/** Why the keys of an issuer cannot be read, as one sentence that says what to correct. */
export function explainIssuerFault(config: IssuerConfig, error: unknown): string {
  const where = config.jwksUrl ?? `${config.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  return `The keys of the issuer ${config.issuer} cannot be read (${describe(error)}), so that nobody can sign in with it: check MARINA_OIDC_ISSUERS and that this program can reach ${where}.`;
}

/** The code of a network error, else the message; that of an invalid document is one of ours. */
function describe(error: unknown): string {
  if (error instanceof z.ZodError) return "its discovery document is not valid";
  if (error instanceof SyntaxError) return "its discovery document is not JSON";
  // The error of fetch itself says nothing but that it failed.
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  const isNetwork = "code" in cause && typeof cause.code === "string" && !cause.code.startsWith("ERR_J");
  return isNetwork ? String(cause.code) : cause.message.replace(/\.$/, "");
}
