export { organizationJobs } from "./jobs.ts";
export {
  ACCESS_QUOTA,
  applyObjectQuota,
  ensureInventory,
  ensureNamespace,
  ensureNamespaceSoon,
  hasLimits,
  OBJECT_QUOTA,
  organizationNamespace,
} from "./namespace.ts";
export { markNamespaceStale } from "./namespace-store.ts";
export { presentOrganization } from "./present.ts";
export type { Quotas } from "./quotas.ts";
export { billingEmailSchema, organizationPage, vatIdSchema } from "./schema.ts";
export {
  countOrganizationsCreatedBy,
  findDeletedOrganizations,
  findKnownOrganizations,
  findOrganization,
  lockOrganization,
  readQuotas,
  requireOrganization,
  tryLockOrganization,
  updateSettings,
  upsertQuotas,
} from "./store.ts";
export { type OrganizationRow, organizations } from "./table.ts";
