import type { SecurityRows } from "../testing/security-rows.ts";

export const SECURITY_ROWS: SecurityRows = {
  createWebhook: ["oa", "webhooks:write"],
  listWebhooks: ["oamv", "webhooks:*"],
  getWebhook: ["oamv", "webhooks:*"],
  updateWebhook: ["oa", "webhooks:write"],
  deleteWebhook: ["oa", "webhooks:write"],
  rotateWebhookSecret: ["oa", "webhooks:write"],
  testWebhook: ["oa", "webhooks:write"],
  listWebhookDeliveries: ["oamv", "webhooks:*"],
  getWebhookDelivery: ["oamv", "webhooks:*"],
  redeliverWebhookEvent: ["oa", "webhooks:write"],
  recoverWebhook: ["oa", "webhooks:write"],
  listWebhookEvents: "signed-in",
  listAdminWebhooks: "staff",
};
