import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  streamSystemEvents: ["oamv", "events:read"],
  createStreamTicket: ["oamv", "events:read"],
};
