import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { identifyEvent } from "../../shared/controller/event-object.ts";
import type { Recorder } from "../../shared/controller/recorder.ts";
import type { Caches } from "../caches.ts";
import { findSubject, mirrorEvent } from "./mirror.ts";

/** A cluster that has no id yet gets it within a moment. */
const RETRY_MS = 2_000;

export interface MirrorDeps {
  caches: Caches;
  recorder: Pick<Recorder, "record">;
  reportingController: string;
}

/** Tells one Event of the engine on the Marina Cluster that it is about, unless that one tells it already. */
export async function runEvent(deps: MirrorDeps, key: string): Promise<ReconcileResult> {
  const event = deps.caches.events.get(key);
  const subject = event && findSubject(deps.caches, event);
  if (event === undefined || subject === undefined) return undefined;
  const mirrored = mirrorEvent(event, subject);
  if (mirrored === undefined) return { requeueAfterMs: RETRY_MS };
  const identity = identifyEvent(mirrored, deps.reportingController);
  const told = deps.caches.events.get(`${identity.namespace}/${identity.name}`);
  const toldCount = told === undefined ? 0 : (told.series?.count ?? 1);
  if (toldCount < (mirrored.count ?? 1)) deps.recorder.record(mirrored);
  return undefined;
}
