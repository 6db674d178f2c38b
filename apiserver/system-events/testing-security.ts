import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  streamSystemEvents: [["owner", "admin", "member", "viewer"], "events:read"],
  createStreamTicket: [["owner", "admin", "member", "viewer"], "events:read"],
};
