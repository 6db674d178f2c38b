import type { KubeObject } from "../../shared/kube/kind.ts";
import { fullJitterMs, sleep } from "../../shared/kube/sleep.ts";
import { currentTenant } from "../../shared/tenant-context.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { objectTag, type Preconditions, requireMatch } from "../http/contract/etag.ts";
import { ApiError } from "../http/errors.ts";
import { requireUnmanaged } from "./field-owner.ts";
import { type ObjectPatch, patchLive } from "./kube-write.ts";
import { readLive } from "./live.ts";
import type { ObjectRef, Resource, WriteResult } from "./resource.ts";
import {
  keepObject,
  type WriteDeps,
  type WritePlan,
  type WriteRequest,
  writeObject,
} from "./write-object.ts";

/** A last attempt that begins then ends within the deadline of a request: one Kubernetes write takes at most 25 s. */
const RETRY_FOR_MS = 20_000;
const RETRY_BASE_MS = 50;
const RETRY_CAP_MS = 1_000;

/** What to change of an object. Without a field of `spec` and without annotations nothing is written. */
export interface ChangePlan<E> extends WritePlan<E>, Pick<ObjectPatch, "spec" | "annotations"> {
  /** The fields of `spec` that change, as dotted paths; default: the keys of `spec`. */
  fields?: readonly string[];
}

export interface ChangeRequest<P, E> extends WriteRequest {
  preconditions?: Preconditions | undefined;
  /** Field manager of the patch; default `marina-apiserver`. */
  fieldManager?: string;
  /** Decides by the object as it is now; called again when it has changed since. Throws the refusal. */
  plan: (current: P) => ChangePlan<E>;
}

/**
 * Changes a custom resource: reads it live, lets `plan` decide, and patches just the fields that change, on the version
 * that was read. When it has changed since, it is read and decided again after a random wait, for at most 20 s: concurrent
 * changes all succeed, in some order. Throws 404, 412 for If-Match, 409 managed_elsewhere or conflict, what `plan`
 * throws, and what `writeObject` throws.
 */
export async function changeObject<T extends KubeObject, P extends ObjectRef, E = undefined>(
  deps: WriteDeps,
  origin: Origin,
  resource: Resource<T, P>,
  known: P,
  request: ChangeRequest<P, E>,
): Promise<WriteResult<P, E>> {
  const { preconditions, fieldManager } = request;
  const retryUntil = performance.now() + RETRY_FOR_MS;
  for (let attempt = 1; performance.now() < retryUntil; attempt++) {
    const live = await readLive(deps, resource, known);
    requireMatch(preconditions, objectTag(live.metadata));
    const plan = request.plan(resource.project(live));
    const { spec, annotations = {}, fields = Object.keys(spec) } = plan;
    if (Object.keys(spec).length === 0 && Object.keys(annotations).length === 0)
      return keepObject(deps, resource, live, { ...request, ...plan });
    requireUnmanaged(live.metadata.managedFields, fields, resource.wireNames);
    const patch = { spec, annotations, requestId: origin.requestId, fieldManager };
    const written = await writeObject(deps, origin, resource, {
      ...request,
      ...plan,
      verb: "change",
      objectId: known.id,
      metadata: live.metadata,
      async apply(options) {
        const object = await patchLive(deps.kube, resource.kind, live, patch, options);
        return object && { object };
      },
    });
    if (written !== undefined) return written;
    await sleep(fullJitterMs(attempt, RETRY_BASE_MS, RETRY_CAP_MS), currentTenant()?.signal);
  }
  throw new ApiError("conflict", `The ${resource.noun} is being changed by other requests; try again.`, {
    retryAfterSeconds: 1,
  });
}
