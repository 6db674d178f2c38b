import { identifyEvent } from "../../shared/controller/event-object.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import type { Event } from "../../shared/kube/core-kinds.ts";
import type { Caches } from "../caches.ts";
import { mirrorEvent } from "./mirror.ts";
import { findSubject } from "./subject.ts";

/** A Cluster API Event that is about a cluster of ours. */
export interface ObservedEvent {
  event: Event;
  /** The Event for the Marina Cluster; undefined while that has no id. */
  mirror: RecordedEvent | undefined;
  /** How often the mirror is counted already; 0 = it is not written. */
  recordedCount: number;
}

/** Gathers an Event from the caches; undefined when it expired or is about nothing of ours. */
export function observeEvent(
  caches: Caches,
  reportingController: string,
  key: string,
): ObservedEvent | undefined {
  const event = caches.events.get(key);
  const subject = event && findSubject(caches, event);
  if (event === undefined || subject === undefined) return undefined;
  const mirror = mirrorEvent(event, subject);
  const identity = mirror && identifyEvent(mirror, reportingController);
  const recorded = identity && caches.events.get(`${identity.namespace}/${identity.name}`);
  const recordedCount = recorded === undefined ? 0 : (recorded.series?.count ?? 1);
  return { event, mirror, recordedCount };
}
