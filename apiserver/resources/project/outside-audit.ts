import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import type { OutsideAudit } from "../../audit/index.ts";
import {
  findOutsideChanges,
  findOutsideCreation,
  type OutsideChange,
  type OutsideWriter,
} from "./outside-changes.ts";
import { isPool, type ProjectedObject } from "./project.ts";

/** The audit of an object observed for the first time, unless it was created (and audited) by REST. */
export function auditsOfCreation(object: ProjectedObject): OutsideAudit[] {
  if (object.object.metadata.annotations?.[ANNOTATION_REQUEST_ID] !== undefined) return [];
  const creation = findOutsideCreation(toState(object));
  return creation === undefined ? [] : [toAudit(object, "create", creation)];
}

/** The audits of changes made by others than REST since the object was stored, one per writer. */
export function auditsOfChanges(
  stored: { outsideWriters: OutsideWriter[]; object: ProjectedObject["object"] },
  object: ProjectedObject,
): OutsideAudit[] {
  const changes = findOutsideChanges(toState(stored), toState(object));
  return changes.map((change) => toAudit(object, "update", change));
}

function toState(state: { outsideWriters: OutsideWriter[]; object: ProjectedObject["object"] }) {
  return { writers: state.outsideWriters, spec: { ...state.object.spec } };
}

function toAudit(
  object: ProjectedObject,
  verb: "create" | "update",
  { manager, before, after }: OutsideChange,
): OutsideAudit {
  const kind = isPool(object) ? "node_pool" : "cluster";
  return {
    manager,
    entry: {
      action: `${kind}.${verb}`,
      orgId: object.orgId,
      target: { kind, id: object.id },
      ...(verb === "create" ? {} : { before }),
      after,
      result: "done",
    },
  };
}
