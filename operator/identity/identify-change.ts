import { identifyEvent, type RecordedEvent } from "../../shared/controller/event-object.ts";

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
