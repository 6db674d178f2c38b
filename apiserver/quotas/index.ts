export { assessQuota, claimQuota, isGrowth, type QuotaClaim, type QuotaScope } from "./quota-claim.ts";
export { type Effects, effectsRecord, type NodeEffects } from "./schema.ts";
