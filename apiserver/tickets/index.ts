export { attachmentJobs } from "./attachments/jobs.ts";
export { closeTicketsOf } from "./changes.ts";
