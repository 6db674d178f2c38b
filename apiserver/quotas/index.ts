export { assessQuota, claimQuota, isGrowth, type QuotaClaim, type QuotaScope } from "./quota-claim.ts";
export { type QuotaEffect, quotaEffectsField } from "./schema.ts";
