export type { Collection, ObjectRef, ScheduledOption, WriteResult } from "./collection.ts";
export {
  dryRunQuery,
  patchOfMap,
  RETRY_AFTER,
  requireCluster,
  requireNodePool,
  requireNodePoolToChange,
  requireNotHeld,
  requireNotSuspended,
  requireUnprotected,
  saveProjection,
} from "./collection.ts";
export { createObject, createObjectName } from "./create-object.ts";
export { hasPendingCreates, isProtectionIntended, isWriteIntended } from "./intents.ts";
export { writeIntentJobs } from "./jobs.ts";
export { isNotApplied } from "./kube-write.ts";
export { changeObject, deleteObject } from "./write-object.ts";
