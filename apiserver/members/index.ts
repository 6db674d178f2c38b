export { recordConfiguredMappings } from "./groups/configured.ts";
export { groupMembershipJobs } from "./groups/jobs.ts";
export { deleteMappingsOf, findMappingsOf } from "./groups/mapping-store.ts";
export { bindUser, endGroupsOfOtherIssuers } from "./groups/settle.ts";
export type { MemberHooks } from "./hooks.ts";
export { readIssuers, recordIssuers } from "./issuers.ts";
export { findEmails, findMembership, insertOwner } from "./store.ts";
export { members, users } from "./table.ts";
export { findIssuerOf, isKnownStaff, listRoles, listRolesByEmail, recordStaffUse } from "./user-store.ts";
