export { annotateSentCidrs, authorizedCidrs, findSentCidrs, maskCidrs } from "./authorized-cidrs.ts";
export { createCatalogueReader } from "./catalogue.ts";
export {
  ADMIN_KUBECONFIG_LIFETIME_DAYS,
  DOWNLOAD_ACTION,
  ensureCredentialsGeneration,
  findNextGeneration,
  readAdminSecret,
  requireAccessible,
} from "./credentials/admin-kubeconfig.ts";
export { expiryJobs } from "./expiry/jobs.ts";
export { clusterTag } from "./present.ts";
export { clustersOf, requireChangeable } from "./write.ts";
