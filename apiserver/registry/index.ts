export { readCredentialStore } from "./credentials/store.ts";
export { createImageCheck } from "./images.ts";
export { registryJobs } from "./jobs.ts";
export { readReportStore } from "./scans/report-store.ts";
export { readScanStore } from "./scans/store.ts";
export { startImageScanner } from "./scans/worker.ts";
export { listUsage as listRegistryUsage } from "./usage/store.ts";
