export { startHarvester } from "./harvest/harvester.ts";
export { systemEventJobs } from "./jobs.ts";
export { redeemStreamTicket } from "./stream-tickets.ts";
