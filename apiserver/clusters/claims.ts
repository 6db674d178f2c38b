import { CLUSTER_AMOUNTS, NO_AMOUNTS } from "../../shared/crd/quota.ts";
import { claimOfCreate } from "../node-pools/store.ts";
import type { QuotaClaim } from "../quotas/store.ts";
import type { NewCluster } from "./new-cluster.ts";

/** What a new cluster and its pools claim of the quotas. */
export function claimsOfCreate(wish: NewCluster): QuotaClaim[] {
  const own = { objectId: wish.clusterId, had: NO_AMOUNTS, wanted: CLUSTER_AMOUNTS };
  return [own, ...wish.nodePools.map(({ id, spec }) => claimOfCreate(id, spec))];
}
