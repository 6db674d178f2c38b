import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getUserIdentity: "staff",
  setUserIdentity: "staff",
  getUserQuotas: "staff",
  setUserQuotas: "staff",
};
