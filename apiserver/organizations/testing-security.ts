import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createOrganization: "people",
  getOrganization: ["oambv", "organization:*"],
  updateOrganization: ["oab", "organization:write"],
  deleteOrganization: ["o"],
  listAdminOrganizations: "staff",
  getAdminOrganization: "staff",
};
