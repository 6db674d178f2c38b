export { clusterAccessJobs } from "./jobs.ts";
export { startAccessObserver } from "./observe/observer.ts";
export { startOffboarding } from "./offboarding/store.ts";
export { requestRevocation, revokePending } from "./revocations.ts";
