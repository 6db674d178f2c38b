import { createHash } from "node:crypto";
import type { Secret } from "../../shared/kube/core-kinds.ts";

/** Keeps of a CA's Secret the certificate alone, and of the engine's other Secrets nothing. */
export function trimAuthority(secret: Secret): Secret {
  const { data, ...rest } = secret;
  const certificate = secret.metadata.name.endsWith("-ca") ? data?.["tls.crt"] : undefined;
  return { ...rest, data: certificate === undefined ? {} : { "tls.crt": certificate } };
}

/** Keeps of an issued credential a fingerprint in place of its content. */
export function trimCredential(secret: Secret): Secret {
  const value = secret.data?.value;
  return { ...secret, data: value === undefined ? {} : { value: fingerprint(value) } };
}

/** A short hash that tells whether a text is still the same. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
