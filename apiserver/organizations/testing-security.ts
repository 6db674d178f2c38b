import { ROLES } from "../http/authorization/permissions.ts";
import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createOrganization: "people",
  getOrganization: [ROLES, "organization:*"],
  updateOrganization: [["owner", "admin", "billing"], "organization:write"],
  deleteOrganization: [["owner"]],
  listAdminOrganizations: "staff",
  getAdminOrganization: "staff",
};
