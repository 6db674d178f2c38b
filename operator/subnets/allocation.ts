import type { Step } from "../../shared/controller/plan.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import type { JsonPatchOperation } from "../../shared/kube/client.ts";
import { type ConfigMap, configMapKind } from "../../shared/kube/core-kinds.ts";

/** What a ConfigMap of the platform's namespace reserves: the `subnet` of a cluster, or the `name` of a new one. */
export const LABEL_LOCK = "cloud.marina.dev/lock";
export const ALLOCATION_SELECTOR = `${LABEL_LOCK}=subnet`;
const ANNOTATION_ORPHANED_AT = "cloud.marina.dev/without-cluster-since";
const ORPHANED_AT_PATH = `/metadata/annotations/${ANNOTATION_ORPHANED_AT.replaceAll("/", "~1")}`;

/** A /24 that is allocated to a cluster, by a ConfigMap. */
export interface Allocation {
  subnet: string;
  clusterId: string;
  /** Name and uid of the ConfigMap. */
  name: string;
  uid: string | undefined;
  createdAt: string;
  /** When it was found without its cluster, which the operator did not delete. */
  orphanedAt: string | undefined;
  /** The uid of the last Cluster API cluster made on it, stored under `engine`; undefined = the cluster is still being created. */
  capiUid: string | undefined;
}

/** Reads an allocation; undefined for any other ConfigMap. */
export function readAllocation(configMap: ConfigMap): Allocation | undefined {
  const { metadata, data } = configMap;
  const clusterId = metadata.labels?.[LABEL_CLUSTER_ID];
  const subnet = data?.subnet;
  if (clusterId === undefined || subnet === undefined) return undefined;
  const { name, uid, creationTimestamp = "", annotations } = metadata;
  const orphanedAt = annotations?.[ANNOTATION_ORPHANED_AT];
  const capiUid = data?.engine;
  return { subnet, clusterId, name, uid, createdAt: creationTimestamp, orphanedAt, capiUid };
}

/**
 * Allocates a subnet. The NAME of the ConfigMap is the subnet, so only one creator succeeds: two operators can never assign
 * one subnet twice, and a lost status is restored by the id inside.
 */
export function planSubnetAllocation(namespace: string, subnet: string, clusterId: string): Step {
  const object: ConfigMap = {
    apiVersion: "v1",
    kind: configMapKind.kind,
    metadata: {
      name: nameAllocation(subnet),
      namespace,
      labels: { [LABEL_LOCK]: "subnet", [LABEL_CLUSTER_ID]: clusterId },
    },
    data: { subnet },
  };
  return { verb: "create", kind: configMapKind, object };
}

/** The older allocation first; those of one second by name. */
export function compareAllocations(left: Allocation, right: Allocation): number {
  return `${left.createdAt} ${left.name}` < `${right.createdAt} ${right.name}` ? -1 : 1;
}

/** Releases the subnet of an allocation. */
export function planSubnetRelease(namespace: string, allocation: Allocation): Step {
  return { verb: "delete", kind: configMapKind, namespace, name: allocation.name, uid: allocation.uid };
}

/**
 * Notes in an allocation which Cluster API cluster was made on it. Written after that exists, so that a crash in between
 * leaves a creation under way, and later an absent one is a loss.
 */
export function composeCapiUidStep(namespace: string, { name, uid }: Allocation, capiUid: string): Step {
  const operations: JsonPatchOperation[] = [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "add", path: "/data/engine", value: capiUid },
  ];
  return { verb: "patch", kind: configMapKind, namespace, name, operations };
}

/** Notes in an allocation since when its cluster is missing; `undefined`: the cluster exists again. */
export function planOrphanRecord({ metadata }: ConfigMap, orphanedAt: Date | undefined): Step {
  const { namespace = "", name, uid, annotations } = metadata;
  const change: JsonPatchOperation[] =
    orphanedAt === undefined
      ? [{ op: "remove", path: ORPHANED_AT_PATH }]
      : [
          ...(annotations === undefined
            ? [{ op: "add", path: "/metadata/annotations", value: {} } as const]
            : []),
          { op: "add", path: ORPHANED_AT_PATH, value: orphanedAt.toISOString() },
        ];
  const operations: JsonPatchOperation[] = [{ op: "test", path: "/metadata/uid", value: uid }, ...change];
  return { verb: "patch", kind: configMapKind, namespace, name, operations };
}

function nameAllocation(subnet: string): string {
  return `subnet-${subnet.replace(/\/24$/, "").replaceAll(".", "-")}`;
}
