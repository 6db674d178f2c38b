export { deleteWebhooksOf } from "./changes.ts";
export { startWebhookDeliverer } from "./deliverer.ts";
export { webhookJobs } from "./jobs.ts";
