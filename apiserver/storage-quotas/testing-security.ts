import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getStorageQuota: ["oamv", "storage:*"],
  getOrganizationStorageQuota: "staff",
  setOrganizationStorageQuota: "staff",
};
