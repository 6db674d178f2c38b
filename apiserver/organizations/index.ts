export { ACCESS_QUOTA, applyAccessQuota, readAccessLimit } from "./access-quota.ts";
export { ensureInventory } from "./inventory.ts";
export { organizationJobs } from "./jobs.ts";
export { ensureNamespace, organizationNamespace, tryEnsureNamespace } from "./namespace.ts";
export { presentOrganization } from "./present.ts";
export type { Quotas } from "./quotas.ts";
export { organizationPage } from "./schema.ts";
export {
  countOrganizationsCreatedBy,
  findDeletedOrganizations,
  findKnownOrganizations,
  findOrganization,
  lockOrganization,
  markNamespaceStale,
  readQuotas,
  requireOrganization,
  upsertQuotas,
} from "./store.ts";
export { type OrganizationRow, organizations } from "./table.ts";
