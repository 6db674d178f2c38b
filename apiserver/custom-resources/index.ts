export { changeObject } from "./change-object.ts";
export { createObject } from "./create-object.ts";
export { deleteObject } from "./delete-object.ts";
export { dryRunQuery } from "./dry-run-query.ts";
export { isWriteIntended, recordCreation } from "./intents.ts";
export { writeIntentJobs } from "./jobs.ts";
export { createOrAdopt } from "./kube-write.ts";
export { createObjectName } from "./object-name.ts";
export { isNotApplied, toRefusal } from "./refusal.ts";
export {
  requireCluster,
  requireNodePool,
  requireNodePoolToChange,
  requireNotHeld,
  requireNotSuspended,
} from "./require.ts";
export { createNameReservation, type Reservation } from "./reservations.ts";
export type { ObjectRef, Resource, WriteResult } from "./resource.ts";
export { RETRY_AFTER } from "./retry-after.ts";
export { saveProjection } from "./save-projection.ts";
