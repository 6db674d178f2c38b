export { storageQuotaJobs } from "./jobs.ts";
