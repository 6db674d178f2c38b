import { ANNOTATION_REQUEST_ID } from "../../shared/crd/names.ts";
import { recordOutsideAudit } from "../audit/store.ts";
import type { Queryable } from "../db/client.ts";
import {
  findOutsideChanges,
  findOutsideCreation,
  type OutsideChange,
  type OutsideWriter,
} from "./outside-changes.ts";
import type { ProjectedCluster, ProjectedNodePool } from "./project.ts";

type ProjectedObject = ProjectedCluster | ProjectedNodePool;

/** The audit row of an object seen for the first time, unless REST made it (and has told of it). */
export async function auditCreation(tx: Queryable, object: ProjectedObject): Promise<void> {
  if (object.object.metadata.annotations?.[ANNOTATION_REQUEST_ID] !== undefined) return;
  const creation = findOutsideCreation(toSeen(object));
  if (creation !== undefined) await record(tx, object, "create", creation);
}

/** The audit rows of what others than REST changed since the object was stored, one per writer. */
export async function auditChanges(
  tx: Queryable,
  stored: { outsideWriters: OutsideWriter[]; object: ProjectedObject["object"] },
  object: ProjectedObject,
): Promise<void> {
  for (const change of findOutsideChanges(toSeen(stored), toSeen(object)))
    await record(tx, object, "update", change);
}

function toSeen(seen: { outsideWriters: OutsideWriter[]; object: ProjectedObject["object"] }) {
  return { writers: seen.outsideWriters, spec: { ...seen.object.spec } };
}

async function record(
  tx: Queryable,
  object: ProjectedObject,
  verb: "create" | "update",
  { manager, before, after }: OutsideChange,
): Promise<void> {
  const kind = "clusterId" in object ? "node_pool" : "cluster";
  await recordOutsideAudit(tx, manager, {
    action: `${kind}.${verb}`,
    orgId: object.orgId,
    target: { kind, id: object.id },
    ...(verb === "create" ? {} : { before }),
    after,
    result: "done",
  });
}
