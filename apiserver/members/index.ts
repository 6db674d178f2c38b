export { readIssuers, recordIssuers } from "./issuers.ts";
export { isKnownStaff, recordStaffUse } from "./staff-store.ts";
export { findEmails, findIssuerOf, findMembership, insertOwner, listRoles } from "./store.ts";
export { members, users } from "./table.ts";
export { bindUser } from "./users.ts";
