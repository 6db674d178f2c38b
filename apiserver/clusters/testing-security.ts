import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  listAdminClusters: "staff",
  getClusterSuspension: "staff",
  setClusterSuspension: "staff",
  createCluster: ["oam", "clusters:write"],
  listClusters: ["oambv", "clusters:*"],
  getCluster: ["oambv", "clusters:*"],
  updateCluster: ["oam", "clusters:write", "clusters:upgrade"],
  deleteCluster: ["oa", "clusters:delete"],
  getKubeconfig: ["oam", "clusters:access"],
  upgradeCluster: ["oam", "clusters:upgrade"],
  listUpgrades: ["oambv", "clusters:*"],
  rotateCredentials: ["oa", "clusters:access"],
  listKubernetesVersions: "signed-in",
};
