export { attachmentJobs } from "./attachments/jobs.ts";
export { closeTicketsOf } from "./changes.ts";
export { listTicketQuotas } from "./limits.ts";
