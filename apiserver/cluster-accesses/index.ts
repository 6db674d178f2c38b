export { type FormerHolder, revokeAccessesOf } from "./accesses.ts";
export { clusterAccessJobs } from "./jobs.ts";
