import { apiVersionOf, type Kind, type ObjectMeta } from "../kube/kind.ts";
import type { EventReference } from "./recorder.ts";

/** What an Event says of the object that it is about. */
export function referTo(kind: Kind<unknown>, metadata: ObjectMeta): EventReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
  };
}
