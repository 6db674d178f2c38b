export {
  bodyExampleOf,
  bodySchemaOf,
  EVENT_CATALOG,
  EVENT_TYPES,
  type EventData,
  type EventType,
  SENT_EVENT_TYPES,
  type SentEventType,
  type Subscription,
} from "./catalog.ts";
export { emitEvents, MAX_ATTEMPTS, type NewEvent, toEventRow } from "./emit.ts";
export { DELIVERIES_CHANNEL, wakeQueues } from "./queues.ts";
export {
  DELIVERY_STATUSES,
  DELIVERY_TRIGGERS,
  DISABLED_REASONS,
  ERROR_CLASSES,
  type ErrorClass,
  type WebhookAttemptRow,
  type WebhookDeliveryRow,
  type WebhookEventRow,
  type WebhookQueueRow,
  type WebhookRow,
  type WebhookSecretRow,
  webhookAttempts,
  webhookDeliveries,
  webhookEvents,
  webhookQueues,
  webhookSecrets,
  webhooks,
} from "./table.ts";
