export { requireVatId } from "./changes.ts";
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
export { updateQuotas } from "./namespace-store.ts";
export { presentOrganization } from "./present.ts";
export { keepProtection } from "./protection.ts";
export { billingEmailSchema, organizationPage, vatIdSchema } from "./schema.ts";
export {
  findDeletedOrganizations,
  findKnownOrganizations,
  findOrganization,
  lockOrganization,
  organizationOfMembership,
  type Quotas,
  readQuotas,
  requireOrganization,
  tryLockOrganization,
  updateSettings,
} from "./store.ts";
export { type OrganizationRow, organizationColumns, organizations } from "./table.ts";
