export { isWriteIntended, recordCreation } from "./intents.ts";
export { writeIntentJobs } from "./jobs.ts";
export { createOrAdopt, isNotApplied, toRefusal } from "./kube-write.ts";
export { createObjectName } from "./object-name.ts";
export {
  dryRunQuery,
  RETRY_AFTER,
  requireCluster,
  requireNodePool,
  requireNodePoolToChange,
  requireNotHeld,
  requireNotSuspended,
} from "./require.ts";
export { createNameReservation, type Reservation } from "./reservations.ts";
export type { ObjectRef, Resource, WriteResult } from "./resource.ts";
export { saveProjection } from "./resource.ts";
export { changeObject, createObject, deleteObject } from "./write-object.ts";
