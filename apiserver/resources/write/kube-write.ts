import { idOf } from "../../../shared/crd/identity.ts";
import { ANNOTATION_REQUEST_ID, MANAGER_APISERVER } from "../../../shared/crd/names.ts";
import type { JsonPatchOperation, KubeClient } from "../../../shared/kube/client.ts";
import { hadNoEffect, KubeError } from "../../../shared/kube/errors.ts";
import {
  holdsField,
  type Kind,
  type KubeObject,
  type ManagedFieldsEntry,
} from "../../../shared/kube/kind.ts";
import { ApiError } from "../../http/errors.ts";
import { createConflict } from "./refusals.ts";

/** Short: the write before it has already used up its own timeout. */
const READ_BACK_MS = 5_000;

/**
 * For every write that has an intent: kube-apiserver has stored it by then, or never does. The client sends it for the last time
 * within 25 s, so that all is over when the job `write-intents` takes the intent for one of a write that was not made.
 */
export const SERVER_TIMEOUT_MS = 25_000;

/** With `dryRun` the Kubernetes API makes every check and stores nothing. */
interface DryRunOption {
  dryRun: boolean;
}

/**
 * Creates an object whose public id and name are fixed, or finds that it exists already: from an earlier attempt, or from
 * this one when its response was lost (read back once). The object of a dry run has version 0, for it is stored nowhere.
 * Throws the KubeError of a create whose outcome is unknown, and 409 conflict when the name belongs to another object.
 */
export async function createOrFind<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  object: T,
  { dryRun }: DryRunOption,
): Promise<T> {
  try {
    // A whole object is a partial one too; the compiler cannot see that through a type parameter.
    const created = await kube.create<T>(kind, object as never, {
      fieldManager: MANAGER_APISERVER,
      dryRun,
      serverTimeoutMs: SERVER_TIMEOUT_MS,
    });
    const { resourceVersion = "0" } = created.metadata;
    return { ...created, metadata: { ...created.metadata, resourceVersion } };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    // A ResourceQuota refuses the create before its name is checked; the object may exist already.
    if (error.isAlreadyExists || (error.isQuotaExceeded && !dryRun))
      return findCreated(kube, kind, object, error);
    const conflict = createConflict(object.metadata.name, error);
    if (conflict !== undefined) throw conflict;
    if (dryRun || error.isAborted || hadNoEffect(error)) throw error;
    const found = await readBack(kube, kind, object.metadata, error);
    if (idOf(found) !== idOf(object)) throw error;
    return found;
  }
}

/**
 * Patches an object whose spec is still that of `live`; undefined when it has changed or it was deleted since. A
 * lost response is read back once, by the request id that the patch carries. Throws the KubeError of a refusal, and of a
 * write whose outcome is unknown.
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
    const options = { fieldManager, dryRun, serverTimeoutMs: SERVER_TIMEOUT_MS };
    return await kube.jsonPatch(kind, namespace, name, operations, options);
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    // A failed `test` is 422 in Kubernetes; `isConflict` counts it as a conflict.
    if (error.isConflict || error.isNotFound) return undefined;
    if (dryRun || error.isAborted || hadNoEffect(error)) throw error;
    const found = await readBack(kube, kind, live.metadata, error);
    if (requestIdOf(found) === patch.requestId) return found;
    throw error;
  }
}

function requestIdOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[ANNOTATION_REQUEST_ID];
}

/**
 * Deletes an object and returns its state after that, as far as it can be read. Undefined when it has changed since it was read and
 * is not being deleted. Throws the KubeError of a deletion that is refused, or whose outcome is unknown.
 */
export async function deleteLive<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  live: T,
  { dryRun, now }: DryRunOption & { now: Date },
): Promise<{ object: T; deleted: boolean } | undefined> {
  const { namespace, name, uid, resourceVersion } = live.metadata;
  let isStale = false;
  const options = { uid, resourceVersion, dryRun, serverTimeoutMs: SERVER_TIMEOUT_MS };
  await kube.delete(kind, namespace, name, options).catch((error: unknown) => {
    isStale = error instanceof KubeError && error.isConflict;
    if (!isStale) throw error;
  });
  if (dryRun) return isStale ? undefined : { object: asDeleting(live, now), deleted: false };
  const read = kube.get(kind, namespace, name, { timeoutMs: READ_BACK_MS });
  const after = await read.catch(() => {
    // The conflict may come from our own first attempt. An accepted deletion is reported without the read.
    if (isStale) throw new KubeError({ status: 0, reason: "Unreachable", kubeMessage: "not confirmed" });
    return asDeleting(live, now);
  });
  const deleted = after === undefined || after.metadata.uid !== uid;
  if (deleted) return { object: asDeleting(live, now), deleted };
  return isStale && after.metadata.deletionTimestamp === undefined ? undefined : { object: after, deleted };
}

/** The object as the Kubernetes API has one that is being deleted: with a new generation. */
function asDeleting<T extends KubeObject>(object: T, now: Date): T {
  const { deletionTimestamp = now.toISOString(), generation = 1, finalizers = [] } = object.metadata;
  const deletion = { deletionTimestamp, generation: generation + (finalizers.length > 0 ? 1 : 0) };
  return { ...object, metadata: { ...object.metadata, ...deletion } };
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

async function findCreated<T extends KubeObject>(
  kube: KubeClient,
  kind: Kind<T>,
  object: T,
  refusal: KubeError,
): Promise<T> {
  const { namespace, name } = object.metadata;
  const found = await kube.get(kind, namespace, name);
  if (found !== undefined && idOf(found) === idOf(object)) return found;
  throw createConflict(name, refusal) ?? refusal;
}

/** One change of an object. */
export interface ObjectPatch {
  /** The fields of `spec` that change, as in a merge patch (RFC 7386): null removes one. */
  spec: Readonly<Record<string, unknown>>;
  /** Annotations to set in addition to the request id. */
  annotations?: Readonly<Record<string, string>>;
  requestId: string;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The JSON patch (RFC 6902) of a change that holds as long as the spec of the object (`metadata.generation`) and its last
 * request by REST are those that were read: the operator writes a status at any time, and a condition on resourceVersion
 * would fail then. An object that REST has not written yet has no request id, and is compared by resourceVersion.
 */
export function composeOperations(
  live: KubeObject & { spec?: object },
  { spec, annotations = {}, requestId }: ObjectPatch,
): JsonPatchOperation[] {
  const { uid, generation, resourceVersion, annotations: present } = live.metadata;
  const lastRequestId = present?.[ANNOTATION_REQUEST_ID];
  const liveSpec: Fields = { ...live.spec };
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    ...(lastRequestId === undefined
      ? [operation("test", ["metadata", "resourceVersion"], resourceVersion)]
      : [
          operation("test", ["metadata", "generation"], generation),
          operation("test", ["metadata", "annotations", ANNOTATION_REQUEST_ID], lastRequestId),
        ]),
    ...(present === undefined ? [operation("add", ["metadata", "annotations"], {})] : []),
    ...Object.entries({ ...annotations, [ANNOTATION_REQUEST_ID]: requestId }).map(([name, value]) =>
      operation("add", ["metadata", "annotations", name], value),
    ),
    ...Object.entries(spec).flatMap(([field, value]) => {
      const merged = mergeValue(liveSpec[field], value);
      if (merged !== undefined) return [operation("add", ["spec", field], merged)];
      return liveSpec[field] === undefined ? [] : [operation("remove", ["spec", field])];
    }),
  ];
}

/** Undefined = removed. */
function mergeValue(current: unknown, patch: unknown): unknown {
  if (patch === null) return undefined;
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(current) ? { ...current } : {};
  for (const [field, value] of Object.entries(patch)) {
    const next = mergeValue(merged[field], value);
    if (next === undefined) delete merged[field];
    else merged[field] = next;
  }
  return merged;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function operation(
  op: "add" | "remove" | "test",
  path: readonly string[],
  value?: unknown,
): JsonPatchOperation {
  const pointer = path.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  return value === undefined ? { op, path: pointer } : { op, path: pointer, value };
}

/**
 * The manager that owns one field of an object's spec (a dotted path) by server-side apply; undefined when no manager
 * but `self` applies it. Entries of plain updates do not count: what `kubectl edit` set may be changed by REST, what
 * GitOps applies may not, for GitOps would revert it. Format: structured-merge-diff's fieldsV1,
 * `{"f:spec": {"f:desiredNodes": {}}}`.
 */
export function findApplyOwner(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  specField: string,
  self: string,
): string | undefined {
  const path = ["spec", ...specField.split(".")].map((part) => `f:${part}`);
  const entry = managedFields?.find(
    ({ manager, operation, subresource, fieldsV1 }) =>
      operation === "Apply" && manager !== self && subresource === undefined && holdsField(fieldsV1, path),
  );
  return entry?.manager;
}

/**
 * Throws 409 managed_elsewhere, naming the field by its wire name and its manager, when one of these fields of the
 * spec is owned by another manager's Apply.
 */
export function requireUnmanaged(
  managedFields: readonly ManagedFieldsEntry[] | undefined,
  fields: readonly string[],
  wireNames: Readonly<Record<string, string>>,
): void {
  for (const field of fields) {
    const owner = findApplyOwner(managedFields, field, MANAGER_APISERVER);
    if (owner !== undefined)
      throw new ApiError(
        "managed_elsewhere",
        `${wireNames[field] ?? field} is managed by ${owner}; change it there, otherwise that manager reverts it.`,
      );
  }
}
