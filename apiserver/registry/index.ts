export { createImageCheck } from "./has-images.ts";
export { registryJobs } from "./jobs.ts";
export { startImageScanner } from "./scanner.ts";
