import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getQuotas: ["oambv", "organization:*"],
  getOrganizationQuotas: "staff",
  setOrganizationQuotas: "staff",
};
