export { annotateSentCidrs, authorizedCidrs, findSentCidrs, maskCidrs } from "./authorized-cidrs.ts";
export { clusterJobs } from "./create/jobs.ts";
export { hasPendingCreates } from "./create/store.ts";
export { readAdminSecret, requireAccessible } from "./credentials/admin-kubeconfig.ts";
export { clustersOf, requireChangeable } from "./resource.ts";
