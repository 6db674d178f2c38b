import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createApiToken: [["owner", "admin", "member"]],
  listApiTokens: [["owner", "admin", "member"]],
  getApiToken: [["owner", "admin", "member"]],
  deleteApiToken: [["owner", "admin", "member"]],
  rotateApiToken: [["owner", "admin", "member"]],
};
