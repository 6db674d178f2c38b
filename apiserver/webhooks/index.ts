export { deleteWebhooksOf } from "./changes.ts";
export { webhookJobs } from "./jobs.ts";
