import { type ConfiguredIssuer, discoveryUrlOf } from "./issuer-config.ts";
import { DocumentError } from "./key-set.ts";

/**
 * Why the keys of an issuer cannot be read, as one sentence that says what to correct. `hasKeys`: those of an earlier read
 * are known.
 */
export function explainIssuerFault(
  config: Pick<ConfiguredIssuer, "issuer" | "jwksUrl">,
  error: unknown,
  { hasKeys }: { hasKeys: boolean },
): string {
  const where = config.jwksUrl ?? discoveryUrlOf(config);
  const effect = hasKeys
    ? "so that only the keys that are known are accepted"
    : "so that nobody can sign in with it";
  return `The keys of the issuer ${config.issuer} cannot be read (${describe(error)}), ${effect}: check MARINA_OIDC_ISSUERS and that this program can reach ${where}.`;
}

/** The code of a network error, else the message; that of an invalid document is one of ours. */
function describe(error: unknown): string {
  if (error instanceof DocumentError) return error.message;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  const isNetwork = "code" in cause && typeof cause.code === "string";
  return isNetwork ? String(cause.code) : cause.message.replace(/\.$/, "");
}
