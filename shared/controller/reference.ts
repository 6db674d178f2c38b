import { apiVersionOf, type Kind, type ObjectMeta } from "../kube/kind.ts";
import type { EventReference } from "./recorder.ts";

/** The reference by which an Event names an object. */
export function referTo(kind: Kind<unknown>, metadata: ObjectMeta): EventReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
  };
}
