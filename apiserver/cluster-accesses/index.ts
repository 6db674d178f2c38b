export { clusterAccessJobs } from "./jobs.ts";
export { startAccessObserver } from "./observe/observer.ts";
export { startOffboarding } from "./offboarding/record.ts";
export { requestRevocation, revokePending } from "./revocations.ts";
