import type { KubeObject } from "../../shared/kube/kind.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { createOrAdopt } from "./kube-write.ts";
import type { ObjectRef, Resource, WriteResult } from "./resource.ts";
import { type WriteDeps, type WritePlan, type WriteRequest, writeObject } from "./write-object.ts";

export interface CreateRequest<T, E> extends WriteRequest, WritePlan<E> {
  /** The public id, which `object` carries as a label. */
  id: string;
  object: T;
}

/**
 * Creates a custom resource whose id and name are fixed; safe to repeat with the same ones. Throws 409 conflict when the
 * object name belongs to another object, and what `writeObject` throws.
 */
export async function createObject<T extends KubeObject, P extends ObjectRef, E = undefined>(
  deps: WriteDeps,
  origin: Origin,
  resource: Resource<T, P>,
  request: CreateRequest<T, E>,
): Promise<WriteResult<P, E>> {
  const { id, object } = request;
  const written = await writeObject(deps, origin, resource, {
    ...request,
    verb: "create",
    objectId: id,
    metadata: object.metadata,
    apply: async (options) => ({ object: await createOrAdopt(deps.kube, resource.kind, object, options) }),
  });
  if (written === undefined) throw new Error("a create depends on no version");
  return written;
}
