import type { KubeObject } from "../../shared/kube/kind.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { objectTag, type Preconditions, requireMatch } from "../http/contract/etag.ts";
import { deleteLive } from "./kube-write.ts";
import { readLive } from "./live.ts";
import type { ObjectRef, Resource, WriteResult } from "./resource.ts";
import {
  keepObject,
  type WriteDeps,
  type WritePlan,
  type WriteRequest,
  writeObject,
} from "./write-object.ts";

export interface DeleteRequest<P, E> extends WriteRequest {
  preconditions?: Preconditions | undefined;
  plan: (current: P) => WritePlan<E>;
}

/**
 * Requests the deletion of a custom resource; it is served with status deleting until its finalizers are removed. An
 * object that is being deleted already is returned as it is. Throws 404, 412 for If-Match, and what `writeObject` throws.
 */
export async function deleteObject<T extends KubeObject, P extends ObjectRef, E = undefined>(
  deps: WriteDeps,
  origin: Origin,
  resource: Resource<T, P>,
  known: P,
  request: DeleteRequest<P, E>,
): Promise<WriteResult<P, E>> {
  const live = await readLive(deps, resource, known);
  requireMatch(request.preconditions, objectTag(live.metadata));
  const plan = request.plan(resource.project(live));
  if (live.metadata.deletionTimestamp !== undefined)
    return keepObject(deps, resource, live, { ...request, ...plan });
  const written = await writeObject(deps, origin, resource, {
    ...request,
    ...plan,
    verb: "delete",
    objectId: known.id,
    metadata: live.metadata,
    apply: ({ dryRun }) => deleteLive(deps.kube, resource.kind, live, { dryRun, now: deps.now() }),
  });
  if (written === undefined) throw new Error("a deletion depends on no version");
  return written;
}
