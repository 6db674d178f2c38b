export { planStayingPools } from "./assess-cost.ts";
export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, planPool, sumEffects } from "./effects.ts";
export { type Effects, effectsRecord } from "./effects-schema.ts";
export { type NewNodePool, type ObjectPlace, toNodePoolObject } from "./new-node-pool.ts";
export { checkPoolRules } from "./pool-rules.ts";
export { amountsOfCreate, amountsOfDelete } from "./quota-amounts.ts";
export { createNodePoolBody, toNodePoolSpec } from "./schema.ts";
