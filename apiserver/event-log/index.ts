export {
  appendEvents,
  EVENTS_CHANNEL,
  type EventPosition,
  type EventRange,
  type EventRow,
  findEventRanges,
  findHarvested,
  findLastStatuses,
  listEventsAfter,
  listNextEvents,
  type NewLogEvent,
  type NewStatusEvent,
  type NewSystemEvent,
  notifyReaders,
  purgeLogEvents,
  type StoredEvent,
} from "./store.ts";
export { type StatusPayload, type SystemEventPayload, systemEvents } from "./table.ts";
