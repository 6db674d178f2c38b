export { findPoolViolations, type NewNodePool, type ObjectPlace } from "./collection.ts";
export { effectsOfCreate, effectsOfDelete, effectsOfUpgrade, sumEffects, toBilledPool } from "./effects.ts";
export { EXAMPLE_EFFECTS } from "./examples.ts";
export { conditionsField, MAX_LEFTOVERS, type TenantObject, upgradeChecksField } from "./fields-schema.ts";
export { presentConditions, protectionStateOf } from "./present.ts";
export {
  createNodePoolBody,
  deletionFields,
  deletionSettings,
  type Effects,
  effectsRecord,
  findPastExpiry,
  toNodePoolSpec,
} from "./schema.ts";
export {
  amountsOfCreate,
  amountsOfDelete,
  deleteNodePool,
  findUnsupportedOfPool,
  toNewObject,
  toRemainingPools,
} from "./write.ts";
