import { idOf } from "../../../shared/crd/identity.ts";
import { ANNOTATION_REQUEST_ID, MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import { KubeError, wasNeverSent } from "../../../shared/kube/errors.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import { ApiError, type DetailCode, type ErrorDetail, validationFailed } from "../../http/errors.ts";
import { composeOperations, type ObjectPatch } from "./object-patch.ts";

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

/**
 * Patches an object whose spec is still that of `live`; undefined when it has changed or it was deleted since. A
 * lost response is read back once, by the request id that the patch carries. Throws the KubeError of a refusal, and of a
 * write that is not confirmed.
 */
export async function patchLive<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  live: T,
  patch: ObjectPatch,
  { dryRun, fieldManager = MANAGER_APISERVER }: DryRunOption & { fieldManager?: string | undefined },
): Promise<T | undefined> {
  const { namespace, name } = live.metadata;
  const operations = composeOperations(live, patch);
  try {
    return await kube.jsonPatch(kind, namespace, name, operations, { fieldManager, dryRun });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.isConflict || error.isNotFound) return undefined;
    // A test that fails is reported as an invalid request, like a setting that is refused.
    if (error.isInvalid && (await hasChanged(kube, kind, live))) return undefined;
    if (dryRun || !error.isUnavailable || isNotApplied(error)) throw error;
    const found = await readBack(kube, kind, live.metadata, error);
    if (requestIdOf(found) === patch.requestId) return found;
    throw error;
  }
}

/** Whether a patch on `live` can no longer hold; also when that cannot be read, for then the next attempt says so. */
async function hasChanged<T extends KubeObject>(kube: KubeClient, kind: Kind<T>, live: T): Promise<boolean> {
  const { namespace, name, uid, generation, resourceVersion } = live.metadata;
  const now = await kube.get(kind, namespace, name, { timeoutMs: READ_BACK_MS }).catch(() => undefined);
  if (now === undefined || now.metadata.uid !== uid) return true;
  if (requestIdOf(live) === undefined) return now.metadata.resourceVersion !== resourceVersion;
  return now.metadata.generation !== generation || requestIdOf(now) !== requestIdOf(live);
}

function requestIdOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[ANNOTATION_REQUEST_ID];
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
