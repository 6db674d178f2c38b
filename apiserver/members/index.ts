export { findOrAcceptMembership } from "./invitations.ts";
export { findEmails, findMembership, insertOwner, listRoles } from "./store.ts";
export { members } from "./table.ts";
export { bindUser } from "./users.ts";
