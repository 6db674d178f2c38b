export { matchesHash, mintToken, parseTokenId, toTokenPrefix } from "./secret.ts";
export { findTokenVersions, revokeApiTokens } from "./store.ts";
export { createApiTokenVerifier, findTokenMembership, takeTokenMembership } from "./verify.ts";
