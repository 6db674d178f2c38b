import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import type { OutsideAudit } from "../../audit/index.ts";
import { findOutsideCreation, outsideWritersOf } from "./outside-changes.ts";
import { isPool, type ProjectedObject } from "./project.ts";

/**
 * The audit of an object observed for the first time, unless it was created (and audited) by REST. `first` is how it was
 * created, if a version before the observed one was seen.
 */
export function auditsOfCreation(object: ProjectedObject, first?: ProjectedObject["object"]): OutsideAudit[] {
  if (object.object.metadata.annotations?.[ANNOTATION_REQUEST_ID] !== undefined) return [];
  const creation =
    first === undefined
      ? findOutsideCreation({ writers: object.outsideWriters, spec: { ...object.object.spec } })
      : findOutsideCreation({
          writers: outsideWritersOf(first.metadata.managedFields),
          spec: { ...first.spec },
        });
  if (creation === undefined) return [];
  const kind = isPool(object) ? "node_pool" : "cluster";
  return [
    {
      manager: creation.manager,
      entry: {
        action: `${kind}.create`,
        orgId: object.orgId,
        target: { kind, id: object.id },
        after: creation.after,
        result: "done",
      },
    },
  ];
}
