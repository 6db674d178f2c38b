import { findCondition } from "../../shared/controller/conditions.ts";
import type { Cluster, ClusterStatus } from "../../shared/crd/cluster.ts";
import { readCapiCluster } from "../capi/cluster-state.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import type { ObservedCluster } from "./observe.ts";
import { reconcileCluster } from "./reconcile.ts";
import { aCluster, type aCondition, anCapiCluster, type CapiFacts, NOW, observeBlue } from "./testing.ts";

/** The status after one reconcile; where it did not change, the last one. */
export function statusAfter(observed: ObservedCluster): ClusterStatus {
  return reconcileCluster(observed, NOW).status ?? observed.cluster.status ?? {};
}

/** A cluster that converged an hour ago: its own status is what a reconcile makes of it. */
export function converged(cluster: Cluster = aCluster(), capiFacts: CapiFacts = {}): ObservedCluster {
  const first = observeBlue({ cluster, capiFacts });
  const applied = reconcileCluster(first, NOW).write[0];
  if (applied?.verb !== "apply") throw new Error("nothing was applied");
  const live = anCapiCluster(capiFacts);
  const { metadata, spec } = applied.object as CapiCluster;
  const observed = observeWith(first, {
    ...live,
    metadata: { ...live.metadata, ...metadata },
    spec: { ...live.spec, ...spec },
  });
  const status = reconcileCluster(observed, new Date(NOW.getTime() - 3_600_000)).status;
  // The operator has removed the confirmation about its id.
  const { annotations: _, ...rest } = cluster.metadata;
  return { ...observed, cluster: { ...cluster, metadata: rest, ...(status && { status }) } };
}

function observeWith(observed: ObservedCluster, object: CapiCluster): ObservedCluster {
  return { ...observed, capi: { object, state: readCapiCluster(object) } };
}

export function withConditions(observed: ObservedCluster, ...conditions: ReturnType<typeof aCondition>[]) {
  const object = observed.capi?.object;
  if (object === undefined) throw new Error("the fixture has no Cluster API cluster");
  const others = (object.status?.conditions ?? []).filter(
    ({ type }) => !conditions.some((condition) => condition.type === type),
  );
  return observeWith(observed, {
    ...object,
    status: { ...object.status, conditions: [...others, ...conditions] },
  });
}

export function reasonOf(status: ClusterStatus, type: "Ready" | "Reconciling" | "Stalled" | "Upgrading") {
  const condition = findCondition(status.conditions, type);
  return condition && `${condition.status} ${condition.reason}`;
}
