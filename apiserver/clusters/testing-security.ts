import { ROLES } from "../http/authorization/permissions.ts";
import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  listAdminClusters: "staff",
  getClusterSuspension: "staff",
  setClusterSuspension: "staff",
  createCluster: [["owner", "admin", "member"], "clusters:write"],
  listClusters: [ROLES, "clusters:*"],
  getCluster: [ROLES, "clusters:*"],
  updateCluster: [["owner", "admin", "member"], "clusters:write", "clusters:upgrade"],
  deleteCluster: [["owner", "admin"], "clusters:delete"],
  getKubeconfig: [["owner", "admin", "member"], "clusters:access"],
  upgradeCluster: [["owner", "admin", "member"], "clusters:upgrade"],
  listUpgrades: [ROLES, "clusters:*"],
  rotateCredentials: [["owner", "admin"], "clusters:access"],
  listKubernetesVersions: "signed-in",
};
