export { startHarvester } from "./harvest/harvester.ts";
export { systemEventJobs } from "./jobs.ts";
export { redeemTicket } from "./stream-passes.ts";
