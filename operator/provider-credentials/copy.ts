import { hashOf } from "../../shared/controller/applied.ts";
import { LABEL_PROVIDER_CREDENTIAL } from "../../shared/crd/names.ts";
import type { JsonPatchOperation } from "../../shared/kube/client.ts";
import type { Secret } from "../../shared/kube/core-kinds.ts";

const DIGEST = "digest";
const COPY = "copy";

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
    metadata: { name: metadata.name, namespace, labels: { [LABEL_PROVIDER_CREDENTIAL]: COPY } },
    ...(type !== undefined && { type }),
    ...(data !== undefined && { data }),
  };
}

/** Whether a Secret has the label of a copy: every other one is left as it is. */
export function isCopy({ metadata }: Secret): boolean {
  return metadata.labels?.[LABEL_PROVIDER_CREDENTIAL] === COPY;
}

const LABEL_PATH = `/metadata/labels/${LABEL_PROVIDER_CREDENTIAL.replaceAll("/", "~1")}`;

/**
 * Replaces all data of a copy, keys that somebody else has added included. Tested, so that a Secret that has taken the place of
 * the copy meanwhile, or is none any more, is never overwritten.
 */
export function composeReplacement({ metadata }: Secret, { data = {} }: Secret): JsonPatchOperation[] {
  return [
    { op: "test", path: "/metadata/uid", value: metadata.uid },
    { op: "test", path: LABEL_PATH, value: COPY },
    { op: "add", path: "/data", value: data },
  ];
}
