import type { KubeObject } from "../../shared/kube/kind.ts";
import type { Deps } from "../deps.ts";
import { notFound } from "../http/errors.ts";
import type { ObjectRef, Resource } from "./resource.ts";

/** The object as the Kubernetes API has it now. One that is gone is not served from then on: throws 404. */
export async function readLive<T extends KubeObject, P extends ObjectRef>(
  deps: Pick<Deps, "db" | "kube">,
  resource: Resource<T, P>,
  known: P,
): Promise<T> {
  const live = await deps.kube.get(resource.kind, known.namespace, known.name);
  if (live?.metadata.uid === known.uid) return live;
  await deps.db.transaction((tx) => resource.save(tx, known, { gone: true }));
  throw notFound(resource.noun);
}
