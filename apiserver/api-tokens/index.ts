export { findTokenVersions, revokeApiTokens } from "./store.ts";
export { createApiTokenVerifier, findTokenMembership } from "./verify.ts";
