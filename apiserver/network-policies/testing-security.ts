import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getNetworkPolicy: ["oambv", "network:*"],
  setNetworkPolicy: ["oam", "network:write"],
};
