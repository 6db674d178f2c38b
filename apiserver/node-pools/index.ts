export { checkPoolCapabilities } from "./capabilities.ts";
export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, planPool, sumEffects } from "./effects.ts";
export { type Effects, effectsRecord } from "./effects-schema.ts";
export { checkPoolRules, type NewNodePool, type ObjectPlace } from "./new-node-pool.ts";
export { createNodePoolBody, toNodePoolSpec } from "./schema.ts";
export { amountsOfCreate, amountsOfDelete, planStayingPools, toNewObject } from "./write.ts";
