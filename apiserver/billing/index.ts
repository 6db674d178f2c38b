export { budgetJobs } from "./budget-alerts/jobs.ts";
export type { PlannedCluster, PlannedPool } from "./cost/compare-cost.ts";
export { assessCost } from "./cost/compare-cost.ts";
export { type CostEffect, costEffectRecord } from "./cost/schema.ts";
export { invoiceJobs } from "./invoices/jobs.ts";
export { requireOffered } from "./packages/changes.ts";
export { packageJobs } from "./packages/jobs.ts";
export { PACKAGE_SLUGS } from "./packages/schema.ts";
export { usageJobs } from "./usage/jobs.ts";
