import { ROLES } from "../http/authorization/permissions.ts";
import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getQuotas: [ROLES, "organization:*"],
  getOrganizationQuotas: "staff",
  setOrganizationQuotas: "staff",
};
