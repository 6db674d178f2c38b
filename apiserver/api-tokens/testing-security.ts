import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createApiToken: ["oam"],
  listApiTokens: ["oam"],
  getApiToken: ["oam"],
  deleteApiToken: ["oam"],
  rotateApiToken: ["oam"],
};
