export { attachmentJobs } from "./attachments/jobs.ts";
export { closeTicketsOf } from "./changes.ts";
export { ticketUpdated } from "./event-schema.ts";
export { listTicketQuotas } from "./limits.ts";
