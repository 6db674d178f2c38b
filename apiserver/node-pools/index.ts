export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, sumEffects } from "./effects.ts";
export { type NewNodePool, type ObjectPlace, toNodePoolObject } from "./new-node-pool.ts";
export { checkPoolRules } from "./pool-rules.ts";
export { claimOfCreate, claimOfDelete } from "./quota-claims.ts";
export { createNodePoolBody, toNodePoolSpec } from "./schema.ts";
