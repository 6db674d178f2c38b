import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { referTo } from "../../shared/controller/reference.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID, LABEL_SOURCE } from "../../shared/crd/names.ts";
import type { KubeconfigBasis } from "./kubeconfig.ts";

/** Tells whoever uses the admin kubeconfig that it was replaced, whoever asked for it. */
export function composeRotationEvent(
  { metadata }: Cluster,
  { clusterId }: Pick<KubeconfigBasis, "clusterId">,
): RecordedEvent {
  return {
    regarding: referTo(clusterKind, metadata),
    type: "Normal",
    reason: "AdminCredentialsRotated",
    action: "Update",
    note: "The admin credentials were rotated: every admin kubeconfig downloaded before is refused. Download it again.",
    labels: { [LABEL_SOURCE]: "operator", [LABEL_CLUSTER_ID]: clusterId },
  };
}
