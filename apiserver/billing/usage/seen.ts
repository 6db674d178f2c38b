import type { Cluster } from "../../../shared/crd/cluster.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import type { EndReason } from "./evidence.ts";

/** The end of a use. */
export interface UseEnd {
  at: Date;
  reason: EndReason;
}

/** An object of the Kubernetes API as it was last seen. */
interface Seen<Kind> {
  uid: string;
  organizationId: string;
  clusterId: string;
  clusterName: string;
  object: Kind;
  /** Since when it is deleted; undefined while it exists. */
  end: UseEnd | undefined;
}

export type SeenCluster = Seen<Cluster>;

export interface SeenPool extends Seen<NodePool> {
  nodePoolId: string;
  /** The package of its cluster; undefined: without one, or the cluster is not known. */
  plan: string | undefined;
}
