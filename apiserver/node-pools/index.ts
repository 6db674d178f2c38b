export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, planPool, sumEffects } from "./effects.ts";
export { checkPoolRules, type NewNodePool, type ObjectPlace } from "./resource.ts";
export { createNodePoolBody, type Effects, effectsRecord, toNodePoolSpec } from "./schema.ts";
export {
  amountsOfCreate,
  amountsOfDelete,
  checkPoolCapabilities,
  planStayingPools,
  toNewObject,
} from "./write.ts";
