export { clusterAccessJobs } from "./jobs.ts";
export { startAccessObserver } from "./observe/observer.ts";
export { readAccessStore } from "./observe/store.ts";
export { startOffboarding } from "./offboarding/store.ts";
export { requestRevocation, revokePending } from "./revocations.ts";
