export type { EventData } from "./catalog.ts";
export { emitEvents, type NewWebhookEvent } from "./emit.ts";
export {
  AUTHOR_TYPES,
  type AuthorType,
  TICKET_CATEGORIES,
  TICKET_SEVERITIES,
  TICKET_STATUSES,
  type TicketCategory,
  type TicketSeverity,
  type TicketStatus,
} from "./payloads.ts";
