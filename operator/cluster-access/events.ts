import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { referTo } from "../../shared/controller/reference.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, findExpiry } from "../../shared/crd/cluster-access.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import { isDeleting } from "../identity/identity.ts";
import type { GrantTarget } from "./reconcile.ts";

/** Tells the users of a cluster that an access to it was taken away, once its rights there have ended. */
export function composeRevocationEvents(
  access: ClusterAccess,
  target: GrantTarget | undefined,
  now: Date,
): RecordedEvent[] {
  if (target === undefined || isDeleting(target.cluster) || findExpiry(access) <= now) return [];
  const { cluster, id } = target;
  return [
    {
      regarding: referTo(clusterKind, cluster.metadata),
      type: "Normal",
      reason: "AccessRevoked",
      action: "Delete",
      note: `The access ${id} of ${access.spec.subject} was revoked: its kubeconfig is refused, and bindings that named it do so no longer.`,
      labels: { [LABEL_SOURCE]: "operator", [LABEL_CLUSTER_ID]: idOf(cluster) ?? "" },
    },
  ];
}
