export { clusterAccessJobs } from "./jobs.ts";
export { startAccessObserver } from "./observe/observer.ts";
export { requestRevocation, revokePending } from "./revocations.ts";
