export { type QuotaEffect, quotaEffectsField } from "./schema.ts";
export { assessQuota, growsUse, type ObjectAmounts, type QuotaScope } from "./store.ts";
