import { idOf } from "../../../shared/crd/identity.ts";
import { ANNOTATION_REQUEST_ID, MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { KubeError, wasNeverSent } from "../../../shared/kube/errors.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import { ApiError, type DetailCode, type ErrorDetail, validationFailed } from "../../http/errors.ts";

/** The client has waited for the lost response already. */
const READ_BACK_MS = 5_000;

/** With `dryRun` the Kubernetes API makes every check and stores nothing. */
export interface DryRunOption {
  dryRun: boolean;
}

/**
 * Creates an object whose public id and name are fixed, or finds that it exists already: from an earlier attempt, or from
 * this one when its response was lost (read back once). The object of a dry run has version 0, for it is stored nowhere.
 * Throws the KubeError of a create that is not confirmed, and 409 conflict when the name belongs to another object.
 */
export async function createOrAdopt<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  object: T,
  { dryRun }: DryRunOption,
): Promise<T> {
  try {
    // A whole object is a partial one too; the compiler cannot see that through a type parameter.
    const created = await kube.create<T>(kind, object as never, { fieldManager: MANAGER_APISERVER, dryRun });
    const { resourceVersion = "0" } = created.metadata;
    return { ...created, metadata: { ...created.metadata, resourceVersion } };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.isAlreadyExists) return adopt(kube, kind, object);
    if (dryRun || !error.isUnavailable || isNotApplied(error)) throw error;
    const found = await readBack(kube, kind, object.metadata, error);
    if (!isSame(found, object)) throw error;
    return found;
  }
}

/** One change of an object. */
export interface ObjectPatch {
  /** The merge patch of `spec`: just the fields that change. */
  spec: Readonly<Record<string, unknown>>;
  /** Annotations to set in addition to the request id. */
  annotations?: Readonly<Record<string, string>>;
  requestId: string;
  /** Default `marina-apiserver`. */
  fieldManager?: string | undefined;
}

/**
 * Patches an object, on the version that `live` was read in; undefined when it has changed or was deleted since. A lost
 * response is read back once, by the request id that the patch carries. Throws the KubeError of a refusal, and of a
 * write that is not confirmed.
 */
export async function patchLive<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  live: T,
  { spec, annotations, requestId, fieldManager = MANAGER_APISERVER }: ObjectPatch,
  { dryRun }: DryRunOption,
): Promise<T | undefined> {
  const { namespace, name, resourceVersion } = live.metadata;
  const patch = {
    metadata: { resourceVersion, annotations: { ...annotations, [ANNOTATION_REQUEST_ID]: requestId } },
    ...(Object.keys(spec).length === 0 ? {} : { spec }),
  };
  try {
    return await kube.mergePatch(kind, namespace, name, patch, { fieldManager, dryRun });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.isConflict || error.isNotFound) return undefined;
    if (dryRun || !error.isUnavailable || isNotApplied(error)) throw error;
    const found = await readBack(kube, kind, live.metadata, error);
    if (found.metadata.annotations?.[ANNOTATION_REQUEST_ID] === requestId) return found;
    throw error;
  }
}

/** Deletes an object and returns its state after that; `gone` is true when it no longer exists. */
export async function deleteLive<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  live: T,
  { dryRun, now }: DryRunOption & { now: Date },
): Promise<{ object: T; gone: boolean }> {
  const { namespace, name, uid } = live.metadata;
  await kube.delete(kind, namespace, name, { uid, dryRun });
  if (dryRun) return { object: asDeleting(live, now), gone: false };
  const left = await kube.get(kind, namespace, name);
  if (left === undefined || left.metadata.uid !== uid) return { object: asDeleting(live, now), gone: true };
  return { object: left, gone: false };
}

/** The given object, marked as the Kubernetes API marks one that is being deleted: that is a new generation. */
function asDeleting<T extends KubeObject>(object: T, now: Date): T {
  const { deletionTimestamp = now.toISOString(), generation = 1, finalizers = [] } = object.metadata;
  const marks = { deletionTimestamp, generation: generation + (finalizers.length > 0 ? 1 : 0) };
  return { ...object, metadata: { ...object.metadata, ...marks } };
}

/** The object after a write whose response was lost. Throws the write's own error when it is missing or cannot be read. */
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

async function adopt<T extends KubeObject>(kube: KubeClient, kind: Kind<T>, object: T): Promise<T> {
  const found = await kube.get(kind, object.metadata.namespace, object.metadata.name);
  if (found !== undefined && isSame(found, object)) return found;
  throw new ApiError("conflict", `The object name ${object.metadata.name} is taken; try again.`, {
    retryAfterSeconds: 1,
  });
}

function isSame(found: KubeObject, desired: KubeObject): boolean {
  return idOf(found) === idOf(desired);
}

/** Whether a failed write certainly changed nothing: it was refused, or it was never sent. */
export function isNotApplied(error: unknown): boolean {
  return error instanceof KubeError && (error.status !== 0 || wasNeverSent(error));
}

/**
 * The error for the client when the Kubernetes API refuses an object as invalid: 422 with a detail per field that
 * REST knows. `wireNames` maps paths inside `spec` to wire names. Any other error is returned unchanged.
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

function codeOf(reason: string | undefined): DetailCode {
  return reason === "FieldValueForbidden" ? "immutable" : "invalid_format";
}
