import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getStorageQuota: [["owner", "admin", "member", "viewer"], "storage:*"],
  getOrganizationStorageQuota: "staff",
  setOrganizationStorageQuota: "staff",
};
