export { requireOrganizationQuota } from "./changes.ts";
