import { isDeepStrictEqual } from "node:util";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import {
  ANNOTATION_APPLIED,
  ANNOTATION_AUTHORIZED_CIDRS,
  ANNOTATION_IDENTITY,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_REQUEST_ID,
} from "../../../shared/crd/names.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";

/** What the audit log compares of one version of an object with the version before it. */
export interface AuditedState {
  resourceVersion: string;
  generation: number;
  /** The request of REST that wrote it last. */
  requestId: string | null;
  spec: Readonly<Record<string, unknown>>;
  labels: Readonly<Record<string, string>>;
  /** Those that have an effect. */
  annotations: Readonly<Record<string, string>>;
  finalizers: readonly string[];
  /** Whether the object says who manages its fields. */
  isManaged: boolean;
}

/** Marina's annotations; those of other domains have no effect here. */
const OWN_DOMAIN = /(^|\.)cloud\.marina\.dev(\/|$)/;
/** Annotations that Marina keeps for its own bookkeeping: no controller of others acts on them. */
const BOOKKEEPING: readonly string[] = [
  ANNOTATION_REQUEST_ID,
  ANNOTATION_NETWORK_REQUEST_ID,
  ANNOTATION_IDENTITY,
  ANNOTATION_AUTHORIZED_CIDRS,
  ANNOTATION_APPLIED,
];

export function toAuditedState({ metadata, spec }: Cluster | NodePool): AuditedState {
  const { annotations = {}, labels = {}, finalizers = [], managedFields = [] } = metadata;
  const acting = Object.entries(annotations).filter(
    ([name]) => OWN_DOMAIN.test(name) && !BOOKKEEPING.includes(name),
  );
  return {
    resourceVersion: metadata.resourceVersion ?? "0",
    generation: metadata.generation ?? 1,
    requestId: annotations[ANNOTATION_REQUEST_ID] ?? null,
    spec: { ...spec },
    labels,
    annotations: Object.fromEntries(acting),
    finalizers,
    isManaged: managedFields.length > 0,
  };
}

/** The version without what is not compared, which may be large: its status, and annotations of other domains. */
export function trimVersion<T extends Cluster | NodePool>(version: T): T {
  const { status: _status, ...rest } = version;
  const { annotations = {} } = version.metadata;
  const own = Object.entries(annotations).filter(([name]) => OWN_DOMAIN.test(name));
  return { ...rest, metadata: { ...version.metadata, annotations: Object.fromEntries(own) } } as T;
}

/** Whether nothing that is audited differs. */
export function isSameState(one: AuditedState, other: AuditedState): boolean {
  const parts = ({ requestId, spec, labels, annotations, finalizers, isManaged }: AuditedState) => [
    requestId,
    spec,
    labels,
    annotations,
    finalizers,
    isManaged,
  ];
  return isDeepStrictEqual(parts(one), parts(other));
}
