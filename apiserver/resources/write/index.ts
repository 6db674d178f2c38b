export { abandonCreate, deleteCreatedObjects } from "./abandon.ts";
export {
  type Collection,
  createObjectName,
  type ObjectRef,
  patchOfMap,
  type ScheduledOption,
  saveProjection,
  type WriteResult,
} from "./collection.ts";
export { createObject } from "./create-object.ts";
export {
  completeCreateIntents,
  hasPendingCreates,
  insertIntents,
  isProtectionIntended,
  isWriteIntended,
} from "./intents.ts";
export { writeIntentJobs } from "./jobs.ts";
export { SERVER_TIMEOUT_MS } from "./kube-write.ts";
export { createConflict } from "./refusals.ts";
export {
  dryRunQuery,
  RETRY_AFTER,
  requireCluster,
  requireNodePool,
  requireNotHeld,
  requireNotSuspended,
  requireUnprotected,
  requireUnsuspendedCluster,
} from "./route-parts.ts";
export { changeObject, deleteObject } from "./write-object.ts";
