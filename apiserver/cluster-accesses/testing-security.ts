import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  issueKubeconfig: [["owner", "admin", "member"], "clusters:access"],
  listClusterAccesses: [["owner", "admin", "member"], "clusters:access"],
  getClusterAccess: [["owner", "admin", "member"], "clusters:access"],
  getForeignAccesses: [["owner", "admin", "member"], "clusters:access & members:read"],
  getOffboarding: [["owner", "admin"]],
  revokeClusterAccess: [["owner", "admin", "member"], "clusters:access"],
};
