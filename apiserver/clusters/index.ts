export { annotateSentCidrs, authorizedCidrs, findSentCidrs, maskCidrs } from "./authorized-cidrs.ts";
export {
  ADMIN_KUBECONFIG_LIFETIME_DAYS,
  DOWNLOAD_ACTION,
  incrementCredentialsGeneration,
  readAdminSecret,
  requireAccessible,
} from "./credentials/admin-kubeconfig.ts";
export { expiryJobs } from "./expiry/jobs.ts";
export { clustersOf, requireChangeable } from "./write.ts";
