import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  listAuditLog: ["oa", "audit:read"],
  listAdminAuditLog: "staff",
};
