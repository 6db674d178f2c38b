export {
  assessQuota,
  createQuotaReservation,
  growsQuota,
  type ObjectAmounts,
  type QuotaScope,
} from "./quota-reservation.ts";
export { type QuotaEffect, quotaEffectsField } from "./schema.ts";
