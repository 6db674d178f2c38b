import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  issueKubeconfig: ["oam", "clusters:access"],
  listClusterAccesses: ["oam", "clusters:access"],
  getClusterAccess: ["oam", "clusters:access"],
  getForeignAccesses: ["oam", "clusters:access & members:read"],
  getOffboarding: ["oa"],
  revokeClusterAccess: ["oam", "clusters:access"],
};
