import { type Cluster, type ClusterSpec, clusterKind } from "../../shared/crd/cluster.ts";
import {
  ANNOTATION_REQUEST_ID,
  API_VERSION,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../shared/crd/names.ts";
import type { NewNodePool, ObjectPlace } from "../node-pools/store.ts";

/** A whole create: the cluster and its pools, every id and object name fixed before the first object is written. */
export interface NewCluster extends ObjectPlace {
  objectName: string;
  spec: ClusterSpec;
  nodePools: NewNodePool[];
}

/**
 * The Cluster object to create. It carries the operator's finalizer from birth: a cluster that is deleted before its
 * operator ever saw it is still cleaned up by it, with the pools that were created beside it.
 */
export function toClusterObject(wish: NewCluster): Cluster {
  return {
    apiVersion: API_VERSION,
    kind: clusterKind.kind,
    metadata: {
      namespace: wish.namespace,
      name: wish.objectName,
      labels: { [LABEL_ID]: wish.clusterId, [LABEL_ORG_ID]: wish.orgId },
      annotations: { [ANNOTATION_REQUEST_ID]: wish.requestId },
      finalizers: [FINALIZER],
    },
    spec: wish.spec,
  };
}
