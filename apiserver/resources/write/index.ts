export { createObject, createObjectName } from "./create-object.ts";
export { hasPendingCreates, isWriteIntended } from "./intents.ts";
export { writeIntentJobs } from "./jobs.ts";
export { isNotApplied } from "./kube-write.ts";
export type { ObjectRef, Resource, WriteResult } from "./resource.ts";
export {
  dryRunQuery,
  patchOfMap,
  RETRY_AFTER,
  requireCluster,
  requireNodePool,
  requireNodePoolToChange,
  requireNotHeld,
  requireNotSuspended,
  saveProjection,
} from "./resource.ts";
export { changeObject, deleteObject } from "./write-object.ts";
