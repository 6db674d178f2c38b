export { assessQuota, growsQuota, type ObjectAmounts, type QuotaScope } from "./assess.ts";
export { type QuotaEffect, quotaEffectsField } from "./schema.ts";
