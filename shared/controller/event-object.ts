import { createHash } from "node:crypto";
import type { CoreV1Event } from "@kubernetes/client-node";
import type { Event } from "../kube/core-kinds.ts";
import { apiVersionOf, defineKind, type Kind, type KubeObject, type ObjectMeta } from "../kube/kind.ts";
import { formatMicroTime, formatTime } from "../program/time.ts";

/**
 * An Event of core/v1, the same object as in events.k8s.io/v1. Written through core/v1, because only that API accepts the
 * times by which `kubectl describe` sorts Events.
 */
export interface WrittenEvent extends KubeObject {
  involvedObject: EventReference;
  related?: EventReference;
  type: CoreV1Event["type"];
  reason: string;
  action: string;
  message: string;
  eventTime: string;
  firstTimestamp: string;
  lastTimestamp: string;
  count: number;
  series?: { count: number; lastObservedTime: string };
  source: { component: string };
  reportingComponent: string;
  reportingInstance: string;
}

export const writtenEventKind = defineKind<WrittenEvent>({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  namespaced: true,
});

export interface EventReference {
  apiVersion: string;
  kind: string;
  namespace?: string | undefined;
  name: string;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  fieldPath?: string | undefined;
}

export interface RecordedEvent {
  /** The object that the Event is about; the Event lives in its namespace ("default" for a cluster-scoped one). */
  regarding: EventReference;
  related?: EventReference | undefined;
  type: "Normal" | "Warning";
  /** CamelCase, at most 128 characters. */
  reason: string;
  /** What was done or failed, as a verb: CamelCase, at most 128 characters. */
  action: string;
  /** For people; cut at 1 kB. */
  note: string;
  labels?: Record<string, string> | undefined;
  /** Same key = same Event, also after a restart. Default: regarding, related, type, reason, action and note. */
  dedupeKey?: string | undefined;
  /** When it happened (default: now), of a counted event the first time. */
  at?: Date | undefined;
  /** When it happened last (default: `at`). */
  lastAt?: Date | undefined;
  /** How often it happened in total, when a counted event is mirrored. Without it each call counts one. */
  count?: number | undefined;
}

/** Occurrences of one Event that are not yet written. */
export interface Occurrences {
  event: RecordedEvent;
  firstAt: Date;
  lastAt: Date;
  /** Since the last write. */
  more: number;
  /** In total, when the caller counts. */
  total?: number | undefined;
}

/** Namespace and name of the Event: the name is a hash of the dedupe key, so a restart finds the same one. */
export function identifyEvent(
  event: RecordedEvent,
  reportingController: string,
): { namespace: string; name: string } {
  const key = event.dedupeKey ?? [
    identifyObject(event.regarding),
    event.related && identifyObject(event.related),
    event.type,
    event.reason,
    event.action,
    event.note,
  ];
  const hash = createHash("sha256")
    .update(JSON.stringify([reportingController, key]))
    .digest("hex")
    .slice(0, 16);
  return {
    namespace: event.regarding.namespace ?? "default",
    // At most 253 characters in all: the object's part may be cut, the hash never.
    name: `${event.regarding.name.slice(0, 230).replace(/[^a-z0-9]+$/, "")}.${hash}`,
  };
}

function identifyObject(reference: EventReference): string[] {
  return [reference.kind, reference.namespace ?? "", reference.name, reference.uid ?? ""];
}

/** The Event to create. Both forms of repetition are filled: the count of core/v1 and the series. */
export function toEventObject(
  { event, firstAt, lastAt, more, total }: Occurrences,
  identity: { namespace: string; name: string },
  reporting: { controller: string; instance: string },
) {
  return {
    metadata: { ...identity, ...(event.labels && { labels: event.labels }) },
    eventTime: formatMicroTime(firstAt),
    firstTimestamp: formatTime(firstAt),
    ...toRepetition(total ?? more, lastAt),
    source: { component: reporting.controller },
    reportingComponent: reporting.controller,
    reportingInstance: reporting.instance.slice(0, 128),
    type: event.type,
    reason: event.reason.slice(0, 128),
    action: event.action.slice(0, 128),
    message: truncateBytes(event.note, 1024),
    involvedObject: event.regarding,
    ...(event.related && { related: event.related }),
  };
}

/** The patch that adds occurrences to an existing Event; undefined when it counts them already. */
export function toSeriesPatch(existing: Event, { lastAt, more, total }: Occurrences) {
  const recorded = existing.series?.count ?? existing.deprecatedCount ?? 1;
  const count = Math.max(recorded, total ?? recorded + more);
  return count === recorded ? undefined : toRepetition(count, lastAt);
}

function toRepetition(count: number, lastAt: Date) {
  return {
    count,
    lastTimestamp: formatTime(lastAt),
    // The API rejects a series of one.
    ...(count > 1 && { series: { count, lastObservedTime: formatMicroTime(lastAt) } }),
  };
}

function truncateBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  // A character cut in half decodes to U+FFFD at the end.
  return encoded
    .subarray(0, bytes)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
}

/**
 * The dedupe key of an Event about a change of phase: each change is a separate Event. A repetition of an earlier text
 * would be added to the earlier Event up to a minute later, when it may be wrong already.
 */
export function identifyChange(
  event: RecordedEvent,
  generation: number | undefined,
  since: string | undefined,
): string {
  return `${identifyEvent(event, "change").name}/${generation}/${since}`;
}

/** The reference by which an Event names an object. */
export function referTo(kind: Kind<unknown>, metadata: ObjectMeta): EventReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
  };
}
