export { readTokenStore } from "./changes.ts";
export { apiTokenJobs } from "./jobs.ts";
export { matchesHash, mintToken, parseTokenId, toTokenPrefix } from "./secret.ts";
export { findTokenVersions, revokeApiTokens } from "./store.ts";
export { consumeVerifiedMembership, createApiTokenVerifier, findTokenMembership } from "./verify.ts";
