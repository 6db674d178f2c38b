export { apiTokens } from "../api-tokens/table.ts";
export { auditLog } from "../audit/table.ts";
export { clusterIntents } from "../clusters/table.ts";
export { idempotencyKeys } from "../http/idempotency/table.ts";
export { members, users } from "../members/table.ts";
export { organizationQuotas, organizations } from "../organizations/table.ts";
export {
  clusterRecords,
  nameReservations,
  nodePoolRecords,
  projectedClusters,
  projectedNodePools,
  transitions,
} from "../projection/table.ts";
export { quotaReservations } from "../quotas/table.ts";
export { streamTickets, systemEvents } from "../system-events/table.ts";
export { writeIntents } from "../write-intents/table.ts";
