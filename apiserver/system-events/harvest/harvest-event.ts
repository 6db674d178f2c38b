import { GROUP, LABEL_NODE_POOL_ID, LABEL_SOURCE, MANAGER_OPERATOR } from "../../../shared/crd/names.ts";
import type { Event } from "../../../shared/kube/core-kinds.ts";
import { toStorable } from "../../db/statement.ts";
import type { SystemEventPayload } from "../../events/table.ts";

/** The writer can put any text into `regarding`; the database accepts only UUIDs. */
const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SOURCES = ["operator", "machine", "hypervisor"] as const;

/** What is kept of one Kubernetes Event. `namespace` and `regardingUid` determine the cluster. */
export interface HarvestedEvent {
  eventUid: string;
  eventCount: number;
  /** The Namespace that holds the Event: who writes there has no say over objects elsewhere. */
  namespace: string;
  /**
   * metadata.uid of the Cluster or NodePool that the Event regards; with the Namespace it determines who may read it.
   */
  regardingUid: string;
  /** From a label, so it must be checked against the cluster's own pools. */
  nodePoolId: string | undefined;
  payload: SystemEventPayload;
}

/**
 * Reads an Event of events.k8s.io/v1; undefined for one of another controller or about an object of another group. A
 * repeated event is read in both forms: `series` (this API) and `deprecatedCount` with its timestamps (written through
 * the core API). The object shown is the related one if that is a machine: tenants
 * know no other object of Cluster API.
 */
export function harvestEvent(written: Event): HarvestedEvent | undefined {
  const event = toStorable(written);
  const { regarding, related, metadata } = event;
  if (event.reportingController !== MANAGER_OPERATOR) return undefined;
  if (metadata.uid === undefined || !UID.test(regarding?.uid ?? "")) return undefined;
  if (regarding?.uid === undefined || regarding.apiVersion?.split("/", 1)[0] !== GROUP) return undefined;

  const object = related?.name !== undefined && isMachineKind(related.kind) ? related : regarding;
  const firstSeenAt = toTimestamp(
    event.deprecatedFirstTimestamp ?? event.eventTime ?? metadata.creationTimestamp,
  );
  const count = event.series?.count ?? event.deprecatedCount ?? 1;
  return {
    eventUid: metadata.uid,
    eventCount: count,
    namespace: metadata.namespace ?? "",
    regardingUid: regarding.uid,
    nodePoolId: metadata.labels?.[LABEL_NODE_POOL_ID],
    payload: {
      type: event.type === "Warning" ? "Warning" : "Normal",
      reason: event.reason ?? "",
      message: event.note ?? "",
      source: SOURCES.find((source) => source === metadata.labels?.[LABEL_SOURCE]) ?? "operator",
      object: { kind: object.kind ?? "", name: object.name ?? "" },
      count,
      firstSeenAt,
      lastSeenAt: toTimestamp(event.series?.lastObservedTime ?? event.deprecatedLastTimestamp, firstSeenAt),
    },
  };
}

/** Cluster API's Machine, or that of a provider: it has the name of its node. */
export function isMachineKind(kind: string | undefined): boolean {
  return kind?.endsWith("Machine") === true;
}

/** Kubernetes writes microseconds; the API returns milliseconds. */
function toTimestamp(time: string | null | undefined, fallback = new Date(0).toISOString()): string {
  const parsed = Date.parse(time ?? "");
  return Number.isNaN(parsed) ? fallback : new Date(parsed).toISOString();
}
