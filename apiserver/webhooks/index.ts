export { deleteWebhooksOf, readWebhookStore } from "./changes.ts";
export { webhookJobs } from "./jobs.ts";
export { startWebhookDeliverer } from "./start-deliverer.ts";
