import { createPublicKey } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, type JWK, SignJWT } from "jose";
import { ApiError } from "../../http/errors.ts";
import type { DistributionConfig } from "../config.ts";

const MAX_LENGTH = 16_384;

/** A right in the form of the registry's token specification: `repository`, `org-<id>/web`, `pull`. */
export interface RegistryAccess {
  type: "repository" | "registry";
  name: string;
  actions: string[];
}

export interface RegistryClaims {
  subject: string;
  access: readonly RegistryAccess[];
  now: Date;
}

/** Longer than any request that a token begins; short, because nothing revokes a token. */
export const TOKEN_LIFE_SECONDS = 300;
/** The issuer of the tokens, as the registry is configured with it. */
export const TOKEN_ISSUER = "marina";

export type SignRegistryToken = (claims: RegistryClaims) => Promise<string>;

/** Creates what signs tokens of the registry (Docker token specification, JWT), which last five minutes. */
export function createTokenSigner({
  signingKey,
  service,
}: Pick<DistributionConfig, "signingKey" | "service">): SignRegistryToken {
  // All tokens have the same key id; it is computed once, since that takes longer than signing.
  let keyId: Promise<string> | undefined;
  return async ({ subject, access, now }) => {
    keyId ??= toPublicJwk({ signingKey }).then(({ kid = "" }) => kid);
    const kid = await keyId;
    const issuedAt = Math.floor(now.getTime() / 1000);
    return (
      new SignJWT({ access })
        .setProtectedHeader({ alg: "ES256", typ: "JWT", kid })
        .setIssuer(TOKEN_ISSUER)
        .setSubject(subject)
        .setAudience(service)
        .setIssuedAt(issuedAt)
        // The clock of the registry may be a little behind.
        .setNotBefore(issuedAt - 30)
        .setExpirationTime(issuedAt + TOKEN_LIFE_SECONDS)
        .setJti(crypto.randomUUID())
        .sign(signingKey)
    );
  };
}

/** The public half of the key, for the registry's JWKS. */
export async function toPublicJwk({ signingKey }: Pick<DistributionConfig, "signingKey">): Promise<JWK> {
  const jwk = await exportJWK(createPublicKey(signingKey));
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: "ES256", use: "sig" };
}

/** The password of an HTTP Basic credential (RFC 7617); undefined for any other header. */
export function readBasicPassword(authorization: string | undefined): string | undefined {
  const [, encoded = ""] =
    /^basic +([A-Za-z0-9+/=]+)$/i.exec(authorization?.slice(0, MAX_LENGTH) ?? "") ?? [];
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  const password = text.slice(colon + 1);
  return colon === -1 || password === "" ? undefined : password;
}

/** 401 that asks for a password, which clients of registries speak (RFC 7617). */
export function passwordRefused(message: string): ApiError {
  return new ApiError("unauthorized", message, {
    headers: { "WWW-Authenticate": 'Basic realm="registry", charset="UTF-8"' },
  });
}
