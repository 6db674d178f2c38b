export { createImageCheck } from "./images.ts";
export { registryJobs } from "./jobs.ts";
export { startImageScanner } from "./scans/worker.ts";
export { listUsage as listRegistryUsage } from "./usage/store.ts";
