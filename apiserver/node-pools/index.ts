export { checkPoolRules, type NewNodePool, type ObjectPlace } from "./collection.ts";
export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, sumEffects, toBilledPool } from "./effects.ts";
export {
  createNodePoolBody,
  deletionProtectionField,
  type Effects,
  effectsRecord,
  toNodePoolSpec,
} from "./schema.ts";
export {
  amountsOfCreate,
  amountsOfDelete,
  checkPoolCapabilities,
  toNewObject,
  toRemainingPools,
} from "./write.ts";
