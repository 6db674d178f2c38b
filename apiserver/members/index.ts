export { findOrAcceptMembership } from "./invitations.ts";
export { findEmails, insertOwner, listRoles } from "./store.ts";
export { members } from "./table.ts";
export { bindUser } from "./users.ts";
