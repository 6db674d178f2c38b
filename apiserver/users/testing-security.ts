import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getUserQuotas: "staff",
  setUserQuotas: "staff",
};
