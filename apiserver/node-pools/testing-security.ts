import { ROLES } from "../http/authorization/permissions.ts";
import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createNodePool: [["owner", "admin", "member"], "nodepools:write"],
  listNodePools: [ROLES, "nodepools:*"],
  getNodePool: [ROLES, "nodepools:*"],
  updateNodePool: [["owner", "admin", "member"], "nodepools:write"],
  deleteNodePool: [["owner", "admin", "member"], "nodepools:write"],
  listNodes: [ROLES, "nodepools:*"],
  replaceNode: [["owner", "admin", "member"], "nodepools:write"],
};
