import type { Step } from "../../shared/controller/plan.ts";
import type { JsonPatchOperation } from "../../shared/kube/client.ts";
import { type EngineCluster, engineClusterKind } from "../engine/kinds.ts";

/** On a Cluster API Cluster that was paused for a suspension: a pause by anybody else is never ended here. */
export const ANNOTATION_PAUSED = "cloud.marina.dev/paused-by-suspension";
const ANNOTATION_PATH = `/metadata/annotations/${ANNOTATION_PAUSED.replaceAll("/", "~1")}`;

/** Pauses Cluster API for a suspended cluster; nothing when it is paused already. */
export function planPause(engine: EngineCluster | undefined): Step[] {
  if (engine === undefined || engine.spec?.paused === true) return [];
  const { annotations } = engine.metadata;
  const annotate: JsonPatchOperation =
    annotations === undefined
      ? { op: "add", path: "/metadata/annotations", value: { [ANNOTATION_PAUSED]: "true" } }
      : { op: "add", path: ANNOTATION_PATH, value: "true" };
  return [patch(engine, [annotate, { op: "add", path: "/spec/paused", value: true }])];
}

/** Ends the pause of a suspension. */
export function planResume(engine: EngineCluster | undefined): Step[] {
  if (engine?.metadata.annotations?.[ANNOTATION_PAUSED] === undefined) return [];
  const operations: JsonPatchOperation[] = [{ op: "remove", path: ANNOTATION_PATH }];
  if (engine.spec?.paused !== undefined) operations.push({ op: "remove", path: "/spec/paused" });
  return [patch(engine, operations)];
}

function patch({ metadata }: EngineCluster, operations: JsonPatchOperation[]): Step {
  const { namespace = "", name } = metadata;
  return { verb: "patch", kind: engineClusterKind, namespace, name, operations };
}
