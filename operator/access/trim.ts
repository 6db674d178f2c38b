import { createHash } from "node:crypto";
import type { Secret } from "../../shared/kube/core-kinds.ts";

/** Keeps of a CA's Secret the certificate alone, and of the engine's other Secrets nothing at all. */
export function trimAuthority(secret: Secret): Secret | undefined {
  const { apiVersion, kind, metadata, data } = secret;
  if (!metadata.name.endsWith("-ca")) return undefined;
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  const kept = {
    name,
    ...(namespace && { namespace }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  };
  const certificate = data?.["tls.crt"];
  return {
    apiVersion,
    kind,
    metadata: { ...kept, ...(labels && { labels }) },
    data: certificate === undefined ? {} : { "tls.crt": certificate },
  };
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
