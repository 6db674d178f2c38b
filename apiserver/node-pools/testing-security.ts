import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createNodePool: ["oam", "nodepools:write"],
  listNodePools: ["oambv", "nodepools:*"],
  getNodePool: ["oambv", "nodepools:*"],
  updateNodePool: ["oam", "nodepools:write"],
  deleteNodePool: ["oam", "nodepools:write"],
  listNodes: ["oambv", "nodepools:*"],
  replaceNode: ["oam", "nodepools:write"],
};
