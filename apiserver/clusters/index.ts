export { annotateSentCidrs, authorizedCidrs, findSentCidrs, maskCidrs } from "./authorized-cidrs.ts";
export {
  ADMIN_KUBECONFIG_LIFETIME_DAYS,
  DOWNLOAD_ACTION,
  readAdminSecret,
  requireAccessible,
} from "./credentials/admin-kubeconfig.ts";
export { incrementCredentialsGeneration } from "./credentials/increment.ts";
export { clustersOf, requireChangeable } from "./resource.ts";
