import { composePlan, type Plan } from "../../shared/controller/plan.ts";
import type { ObservedEvent } from "./observe.ts";

/** A cluster without an id gets one within a moment. */
const RETRY_MS = 2_000;

/** Records the mirror of an Event, unless it is recorded already. */
export function reconcileEvent({ mirror, recordedCount }: ObservedEvent): Plan<never> {
  if (mirror === undefined) return composePlan({ requeueAfterMs: RETRY_MS });
  return composePlan({ events: recordedCount < (mirror.count ?? 1) ? [mirror] : [] });
}
