import { type Cluster, type ClusterSpec, clusterKind } from "../../../shared/crd/cluster.ts";
import {
  ANNOTATION_IDENTITY,
  ANNOTATION_REQUEST_ID,
  API_VERSION,
  FINALIZER,
  LABEL_ID,
  LABEL_ORG_ID,
} from "../../../shared/crd/names.ts";
import type { NewNodePool, ObjectPlace } from "../../node-pools/index.ts";
import { annotateSentCidrs } from "../authorized-cidrs.ts";

/** A create request: the cluster and its pools, with every id and object name. */
export interface NewCluster extends ObjectPlace {
  objectName: string;
  spec: ClusterSpec;
  /** The blocks as they were sent; `spec` holds those that are applied. */
  sentCidrs?: string[];
  nodePools: NewNodePool[];
}

/**
 * The Cluster object to create. It has the operator's finalizer from the start: a cluster that is deleted before the
 * operator has observed it is still cleaned up, with the pools that were created with it.
 */
export function toClusterObject(request: NewCluster): Cluster {
  return {
    apiVersion: API_VERSION,
    kind: clusterKind.kind,
    metadata: {
      namespace: request.namespace,
      name: request.objectName,
      labels: { [LABEL_ID]: request.clusterId, [LABEL_ORG_ID]: request.orgId },
      annotations: {
        [ANNOTATION_REQUEST_ID]: request.requestId,
        [ANNOTATION_IDENTITY]: "new",
        ...(request.sentCidrs === undefined ? {} : annotateSentCidrs(request.sentCidrs)),
      },
      finalizers: [FINALIZER],
    },
    spec: request.spec,
  };
}
