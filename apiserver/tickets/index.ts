export { attachmentJobs } from "./attachments/jobs.ts";
export { closeTicketsOf } from "./changes.ts";
export { ticketUpdated } from "./event-schema.ts";
export { readTicketStores } from "./limits.ts";
