import { isProtected, nameProtected, type Protectable } from "../../../shared/crd/fields.ts";
import { LABEL_PROTECTED, MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { type Namespace, namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { ApiError } from "../../http/errors.ts";

const RETRY_SECONDS = 5;
const TIMEOUT_MS = 5_000;
/** For each of two calls, during which a transaction may hold the lock of the organization. */
const KEPT_TIMEOUT_MS = 2_000;

/**
 * Has the Namespace labelled before a change after which the object is protected: by `deletionProtection`, or, where that is undefined,
 * as before. Call it after the commit of the change's intent. Throws what `protectNamespace` and `keepNamespaceProtected` throw.
 */
export async function protectForChange(
  kube: Pick<KubeClient, "get" | "mergePatch">,
  live: Protectable,
  deletionProtection: unknown,
): Promise<void> {
  if (deletionProtection === true) await protectNamespace(kube, live);
  else if (deletionProtection === undefined && isProtected(live)) await keepNamespaceProtected(kube, live);
}

/**
 * Labels the Namespace of an object that is protected next, between the commit of its intent and its write: from then
 * on the Namespace is not deleted either, and the label stays while the intent or the protection is there. Throws 409
 * conflict for a Namespace that is being deleted, and a KubeError.
 */
export async function protectNamespace(
  kube: Pick<KubeClient, "mergePatch">,
  object: Protectable,
): Promise<void> {
  requireNotTerminating(await labelNamespace(kube, object, TIMEOUT_MS));
}

/**
 * Has the Namespace labelled of an object that is protected already, as by kubectl a moment ago; a label stays, whichever object it
 * names. `keepProtection` of organizations removes it, under the organization's lock: call this under that lock, or after the commit
 * of an intent, which took it. Throws 409 conflict for a Namespace that is being deleted, and a KubeError.
 */
export async function keepNamespaceProtected(
  kube: Pick<KubeClient, "get" | "mergePatch">,
  object: Protectable,
): Promise<void> {
  const { namespace = "" } = object.metadata;
  const found = await kube.get(namespaceKind, undefined, namespace, { timeoutMs: KEPT_TIMEOUT_MS });
  const hasLabel = found?.metadata.labels?.[LABEL_PROTECTED] !== undefined;
  requireNotTerminating(hasLabel ? found : await labelNamespace(kube, object, KEPT_TIMEOUT_MS));
}

function requireNotTerminating({ metadata }: Namespace): void {
  if (metadata.deletionTimestamp === undefined) return;
  const message =
    "The organization's namespace is being deleted: nothing in it can be protected. Try again when it is gone.";
  throw new ApiError("conflict", message, { retryAfterSeconds: RETRY_SECONDS });
}

function labelNamespace(
  kube: Pick<KubeClient, "mergePatch">,
  object: Protectable,
  timeoutMs: number,
): Promise<Namespace> {
  const { namespace = "" } = object.metadata;
  const patch = { metadata: { labels: { [LABEL_PROTECTED]: nameProtected(object) } } };
  const options = { fieldManager: MANAGER_APISERVER, timeoutMs };
  return kube.mergePatch(namespaceKind, undefined, namespace, patch, options);
}
