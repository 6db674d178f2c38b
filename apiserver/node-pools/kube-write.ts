import { ANNOTATION_REQUEST_ID, LABEL_ID, MANAGER_APISERVER } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import { ApiError, type DetailCode, type ErrorDetail, validationFailed } from "../http/errors.ts";
import { isCertainlyNotWritten } from "../write-intents/store.ts";

/** The client has waited for the lost answer already. */
const READ_BACK_MS = 5_000;

/**
 * Creates an object whose public id and name were fixed before, or finds that it was created already: by an earlier
 * attempt, or by this one when its answer was lost (read back once). Throws the KubeError of a create that is not
 * confirmed, and 409 conflict when the name belongs to another object.
 */
export async function createOnce<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  object: T,
): Promise<T> {
  try {
    // A whole object is a partial one too; the compiler cannot see that through a type parameter.
    return await kube.create<T>(kind, object as never, { fieldManager: MANAGER_APISERVER });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.isAlreadyExists) return adopt(kube, kind, object);
    if (!error.isUnavailable || isCertainlyNotWritten(error)) throw error;
    const written = await readBack(kube, kind, object.metadata, error);
    if (!isSame(written, object)) throw error;
    return written;
  }
}

/**
 * The object as a create would make it: every check of the Kubernetes API, and no effect. It has no version, for it is
 * stored nowhere; 0 stands for that. Rejects with the KubeError of the create.
 */
export async function rehearseOnce<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  object: T,
): Promise<T> {
  const options = { fieldManager: MANAGER_APISERVER, dryRun: true };
  // As in createOnce.
  const made = await kube.create<T>(kind, object as never, options);
  return { ...made, metadata: { ...made.metadata, resourceVersion: made.metadata.resourceVersion ?? "0" } };
}

/** One change of an object: the merge patch of its spec, and what goes with it. */
export interface SpecPatch {
  spec: Readonly<Record<string, unknown>>;
  requestId: string;
  /** Wire names of paths inside `spec`, for a refusal. */
  wireNames: Readonly<Record<string, string>>;
  /** Default `marina-apiserver`. */
  fieldManager?: string;
  /** Annotations to set beside the request id. */
  annotations?: Readonly<Record<string, string>>;
  /** Every check of the Kubernetes API, and no effect. */
  dryRun?: boolean;
}

/**
 * Patches just these fields of `spec`, on the version that `live` was read in; undefined when it has moved on since, or
 * is gone.
 * A lost answer is read back once by the request id that the patch carries. Throws 422 for what the Kubernetes API
 * refuses, in the names of `wireNames`, and the KubeError of a write that is not confirmed.
 */
export async function patchOnce<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  live: T,
  change: SpecPatch,
): Promise<T | undefined> {
  const { namespace, name, resourceVersion } = live.metadata;
  const {
    spec,
    requestId,
    wireNames,
    annotations,
    fieldManager = MANAGER_APISERVER,
    dryRun = false,
  } = change;
  const patch = {
    metadata: { resourceVersion, annotations: { ...annotations, [ANNOTATION_REQUEST_ID]: requestId } },
    ...(Object.keys(spec).length === 0 ? {} : { spec }),
  };
  try {
    return await kube.mergePatch(kind, namespace, name, patch, { fieldManager, dryRun });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.isConflict || error.isNotFound) return undefined;
    if (dryRun || !error.isUnavailable || isCertainlyNotWritten(error)) throw toRefusal(error, wireNames);
    const found = await readBack(kube, kind, live.metadata, error);
    if (found.metadata.annotations?.[ANNOTATION_REQUEST_ID] === requestId) return found;
    throw error;
  }
}

const MAX_ATTEMPTS = 5;

/**
 * Runs one round of reading, merging and writing until it is not overtaken by another writer, at most five times; a
 * round that was overtaken returns undefined. Throws 409 conflict after the last one. `what` as in "The cluster".
 */
export async function retryOvertaken<T>(what: string, round: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const result = await round();
    if (result !== undefined) return result;
  }
  throw new ApiError("conflict", `${what} is being changed by others at this moment; try again.`, {
    retryAfterSeconds: 1,
  });
}

/**
 * The object as it is after a write whose answer was lost. Throws the write's own error when that cannot be told, or
 * when there is no such object.
 */
async function readBack<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  { namespace, name }: { namespace?: string; name: string },
  writeError: KubeError,
): Promise<T> {
  let found: T | undefined;
  try {
    found = await kube.get(kind, namespace, name, { timeoutMs: READ_BACK_MS });
  } catch {
    throw writeError;
  }
  if (found === undefined) throw writeError;
  return found;
}

/**
 * The error for the client when the Kubernetes API refuses an object as invalid: 422 with a detail per field that
 * the interface knows. `wireNames` maps paths inside `spec` to wire names. Any other error comes back as it is.
 */
export function toRefusal(error: unknown, wireNames: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof KubeError) || !error.isInvalid) return error;
  const details = (error.details?.causes ?? []).map(({ field = "", reason, message = "" }): ErrorDetail => {
    const path = field.replace(/^spec\.?/, "").replaceAll(/\[.*/g, "");
    return { field: wireNames[path] ?? "body", code: codeOf(reason), message };
  });
  const [first, ...others] = details;
  if (first !== undefined) return validationFailed([first, ...others]);
  return validationFailed([{ field: "body", code: "invalid_format", message: error.kubeMessage }]);
}

async function adopt<T extends KubeObject>(kube: KubeClient, kind: Kind<T>, object: T): Promise<T> {
  const found = await kube.get(kind, object.metadata.namespace, object.metadata.name);
  if (found !== undefined && isSame(found, object)) return found;
  throw new ApiError("conflict", `The object name ${object.metadata.name} is taken; try again.`, {
    retryAfterSeconds: 1,
  });
}

function isSame(found: KubeObject, wanted: KubeObject): boolean {
  return found.metadata.labels?.[LABEL_ID] === wanted.metadata.labels?.[LABEL_ID];
}

function codeOf(reason: string | undefined): DetailCode {
  return reason === "FieldValueForbidden" ? "immutable" : "invalid_format";
}
