import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  listAuditLog: [["owner", "admin"], "audit:read"],
  listAdminAuditLog: "staff",
};
