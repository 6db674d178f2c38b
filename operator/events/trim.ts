import type { Event } from "../../shared/kube/core-kinds.ts";
import { isMirror } from "./mirror.ts";
import { mayBeMirrored } from "./subject.ts";

/**
 * Keeps of an Event the fields that are mirrored; the others would be most of the cache. Undefined, so that it is not
 * cached, for one that neither may be mirrored nor is a mirror.
 */
export function trimEvent(event: Event): Event | undefined {
  if (!mayBeMirrored(event) && !isMirror(event)) return undefined;
  const { apiVersion, kind, metadata, regarding, type, reason, action, note, eventTime, series } = event;
  const { deprecatedCount, deprecatedFirstTimestamp, deprecatedLastTimestamp } = event;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const kept = { name, namespace, uid, resourceVersion, creationTimestamp };
  const dropsUndefined = (object: object) =>
    Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));
  return dropsUndefined({
    apiVersion,
    kind,
    metadata: dropsUndefined(kept),
    regarding,
    type,
    reason,
    action,
    note,
    eventTime,
    series,
    deprecatedCount,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
  }) as unknown as Event;
}
