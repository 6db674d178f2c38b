export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, planPool, sumEffects } from "./effects.ts";
export { type Effects, effectsRecord } from "./effects-schema.ts";
export { checkPoolRules, type NewNodePool, type ObjectPlace } from "./resource.ts";
export { createNodePoolBody, toNodePoolSpec } from "./schema.ts";
export {
  amountsOfCreate,
  amountsOfDelete,
  checkPoolCapabilities,
  planStayingPools,
  toNewObject,
} from "./write.ts";
