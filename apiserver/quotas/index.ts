export { type QuotaEffect, quotaEffectsField } from "./schema.ts";
export { assessQuota, increasesUse, type ObjectAmounts, type QuotaScope } from "./store.ts";
