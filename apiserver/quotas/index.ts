export { type QuotaEffect, quotaEffectsField } from "./schema.ts";
export { assessQuota, increasesUse, type ObjectAmounts, type QuotaOwner } from "./store.ts";
