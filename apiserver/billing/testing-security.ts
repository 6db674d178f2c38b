import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  getRateCard: "signed-in",
  getRateCardHistory: "staff",
  updateRateCard: "staff",
};
