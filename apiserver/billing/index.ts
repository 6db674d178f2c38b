export type { BilledCluster, BilledPool } from "./cost/compare-cost.ts";
export { assessCost } from "./cost/compare-cost.ts";
export { type CostEffect, costEffectRecord } from "./cost/schema.ts";
export { invoiceGenerated, usageAlert } from "./event-schema.ts";
export { budgetJobs, invoiceJobs, packageJobs, usageJobs } from "./jobs.ts";
export { findUnavailablePlan, requireOffered } from "./packages/changes.ts";
export { PACKAGE_SLUGS } from "./packages/schema.ts";
