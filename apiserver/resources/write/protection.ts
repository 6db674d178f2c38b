import { nameProtected, type Protectable } from "../../../shared/crd/fields.ts";
import { LABEL_PROTECTED, MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { ApiError } from "../../http/errors.ts";

const RETRY_SECONDS = 5;
const TIMEOUT_MS = 5_000;

/**
 * Marks the Namespace of an object that is protected next, between the commit of its intent and its write: from then on the
 * Namespace is not deleted either, and the mark stays while the intent or the protection is there. Throws 409 conflict for a Namespace
 * that is being deleted, and a KubeError.
 */
export async function protectNamespace(
  kube: Pick<KubeClient, "mergePatch">,
  object: Protectable,
): Promise<void> {
  const { namespace = "" } = object.metadata;
  const patch = { metadata: { labels: { [LABEL_PROTECTED]: nameProtected(object) } } };
  const options = { fieldManager: MANAGER_APISERVER, timeoutMs: TIMEOUT_MS };
  const { metadata } = await kube.mergePatch(namespaceKind, undefined, namespace, patch, options);
  if (metadata.deletionTimestamp === undefined) return;
  throw new ApiError("conflict", "The organization's namespace is being deleted; try again.", {
    retryAfterSeconds: RETRY_SECONDS,
  });
}
