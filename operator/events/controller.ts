import type { Controller, ReconcileResult } from "../../shared/controller/controller.ts";
import { identifyEvent } from "../../shared/controller/event-object.ts";
import { applyPlan, composePlan, type Plan } from "../../shared/controller/plan.ts";
import type { RecordedEvent } from "../../shared/controller/recorder.ts";
import { type Event, eventKind } from "../../shared/kube/core-kinds.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { CacheSet, Caches, RunContext } from "../caches.ts";
import { enqueueTo } from "../caches.ts";
import { findSubject, mayBeMirrored, mirrorEvent } from "./mirror.ts";

/** A Cluster API Event that is about a cluster of ours. */
export interface ObservedEvent {
  event: Event;
  /** The Event for the Marina Cluster; undefined while that has no id. */
  mirror: RecordedEvent | undefined;
  /** How often the mirror is counted already; 0 = it is not written. */
  recordedCount: number;
}

/** A cluster without an id gets one within a moment. */
const RETRY_MS = 2_000;

/** Records the mirror of an Event, unless it is recorded already. */
export function reconcileEvent({ mirror, recordedCount }: ObservedEvent): Plan<never> {
  if (mirror === undefined) return composePlan({ requeueAfterMs: RETRY_MS });
  return composePlan({ events: recordedCount < (mirror.count ?? 1) ? [mirror] : [] });
}

export interface EventDeps {
  caches: Caches;
  reportingController: string;
}

/** Reconciles one Cluster API Event: the Marina Cluster that it is about gets the same Event. */
export async function runEvent(deps: EventDeps, key: string, context: RunContext): Promise<ReconcileResult> {
  const observed = observeEvent(deps.caches, deps.reportingController, key);
  if (observed === undefined) return undefined;
  const plan = reconcileEvent(observed);
  await applyPlan({ ...context, kind: eventKind }, observed.event, plan);
  return { requeueAfterMs: plan.requeueAfterMs };
}

/** Gathers an Event from the caches; undefined when it expired or is about nothing of ours. */
function observeEvent(caches: Caches, reportingController: string, key: string): ObservedEvent | undefined {
  const event = caches.events.get(key);
  const subject = event && findSubject(caches, event);
  if (event === undefined || subject === undefined) return undefined;
  const mirror = mirrorEvent(event, subject);
  const identity = mirror && identifyEvent(mirror, reportingController);
  const recorded = identity && caches.events.get(`${identity.namespace}/${identity.name}`);
  const recordedCount = recorded === undefined ? 0 : (recorded.series?.count ?? 1);
  return { event, mirror, recordedCount };
}

/** Adds every Event that may be mirrored; an expired Event is not worth a reconcile. */
export function watchClusterEvents(cacheSet: CacheSet, controller: Pick<Controller, "add">): void {
  const add = enqueueTo(controller);
  cacheSet.listen("events", (change) => {
    if (change.type !== "deleted" && mayBeMirrored(change.object)) add(objectKey(change.object), change);
  });
}
