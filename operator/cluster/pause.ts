import type { Step } from "../../shared/controller/plan.ts";
import type { JsonPatchOperation } from "../../shared/kube/client.ts";
import { type CapiCluster, capiClusterKind } from "../capi/kinds.ts";

/** On a Cluster API Cluster that was paused for a suspension: a pause by any other writer is never ended here. */
export const ANNOTATION_PAUSED = "cloud.marina.dev/paused-by-suspension";
const ANNOTATION_PATH = `/metadata/annotations/${ANNOTATION_PAUSED.replaceAll("/", "~1")}`;

/** Pauses Cluster API for a suspended cluster; nothing when it is paused already. */
export function planPause(capi: CapiCluster | undefined): Step[] {
  if (capi === undefined || capi.spec?.paused === true) return [];
  const { annotations } = capi.metadata;
  const annotate: JsonPatchOperation =
    annotations === undefined
      ? { op: "add", path: "/metadata/annotations", value: { [ANNOTATION_PAUSED]: "true" } }
      : { op: "add", path: ANNOTATION_PATH, value: "true" };
  return [patch(capi, [annotate, { op: "add", path: "/spec/paused", value: true }])];
}

/** Ends the pause of a suspension. */
export function planResume(capi: CapiCluster | undefined): Step[] {
  if (capi?.metadata.annotations?.[ANNOTATION_PAUSED] === undefined) return [];
  const operations: JsonPatchOperation[] = [{ op: "remove", path: ANNOTATION_PATH }];
  if (capi.spec?.paused !== undefined) operations.push({ op: "remove", path: "/spec/paused" });
  return [patch(capi, operations)];
}

function patch({ metadata }: CapiCluster, operations: JsonPatchOperation[]): Step {
  const { namespace = "", name } = metadata;
  return { verb: "patch", kind: capiClusterKind, namespace, name, operations };
}
