import { hashOf } from "../../shared/controller/applied.ts";
import { LABEL_PROVIDER_CREDENTIAL } from "../../shared/crd/names.ts";
import type { Secret } from "../../shared/kube/core-kinds.ts";

const DIGEST = "digest";

/** The Secret with a digest in place of its content: that is kept in no cache. */
export function trimToDigest(secret: Secret): Secret {
  const { type, data = {} } = secret;
  return { ...secret, data: { [DIGEST]: hashOf({ type, data }) } };
}

/** The digest of a Secret that `trimToDigest` made. */
export function digestOf(secret: Secret): string {
  return secret.data?.[DIGEST] ?? "";
}

/** The copy of a Secret of the platform's namespace in this one. */
export function composeCopy({ metadata, type, data }: Secret, namespace: string): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: metadata.name, namespace, labels: { [LABEL_PROVIDER_CREDENTIAL]: "copy" } },
    ...(type !== undefined && { type }),
    ...(data !== undefined && { data }),
  };
}
