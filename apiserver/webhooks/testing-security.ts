import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createWebhook: [["owner", "admin"], "webhooks:write"],
  listWebhooks: [["owner", "admin", "member", "viewer"], "webhooks:*"],
  getWebhook: [["owner", "admin", "member", "viewer"], "webhooks:*"],
  updateWebhook: [["owner", "admin"], "webhooks:write"],
  deleteWebhook: [["owner", "admin"], "webhooks:write"],
  rotateWebhookSecret: [["owner", "admin"], "webhooks:write"],
  testWebhook: [["owner", "admin"], "webhooks:write"],
  listWebhookDeliveries: [["owner", "admin", "member", "viewer"], "webhooks:*"],
  getWebhookDelivery: [["owner", "admin", "member", "viewer"], "webhooks:*"],
  redeliverWebhookEvent: [["owner", "admin"], "webhooks:write"],
  recoverWebhook: [["owner", "admin"], "webhooks:write"],
  listWebhookEvents: "signed-in",
  listAdminWebhooks: "staff",
};
