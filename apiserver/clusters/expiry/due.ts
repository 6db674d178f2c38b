import { createHash } from "node:crypto";
import { findCondition } from "../../../shared/controller/conditions.ts";
import { EXPIRED } from "../../../shared/crd/conditions.ts";
import { isExpired } from "../../../shared/crd/fields.ts";
import { findRestoredAt, identityStateOf } from "../../../shared/crd/identity.ts";
import type { NewSystemEvent } from "../../events/feed.ts";
import type { ProjectedObject } from "../../resources/project/index.ts";

const HOUR_MS = 3_600_000;

/** The last one first: after an outage only the one that is due then is sent. */
const NOTICES = [
  { name: "1h", beforeMs: HOUR_MS },
  { name: "24h", beforeMs: 24 * HOUR_MS },
  { name: "7d", beforeMs: 7 * 24 * HOUR_MS },
] as const;

/** An end has passed without any of the others. */
const ENDED = "ended";

type Notice = (typeof NOTICES)[number]["name"];
type Deletable = Pick<ProjectedObject["object"], "metadata" | "spec" | "status">;

/** Which notice of an end date is due; undefined before the first one, and once the end has passed. */
export function findDueNotice(expiresAt: string | undefined, now: Date): Notice | undefined {
  const leftMs = Date.parse(expiresAt ?? "") - now.getTime();
  return leftMs > 0 ? NOTICES.find(({ beforeMs }) => leftMs <= beforeMs)?.name : undefined;
}

/**
 * Whether the end date of an object has passed and its protection does not keep it. What was created after its end waits for the operator: it
 * makes nothing of it, and deleting that would have Git create it for ever. The end of what came back from a backup may be outdated.
 */
export function isDue(object: Deletable, now: Date): boolean {
  const { metadata, spec, status } = object;
  if (!isExpired(spec, now) || metadata.deletionTimestamp !== undefined) return false;
  if (spec.deletionProtection === true) return false;
  const createdMs = Date.parse(metadata.creationTimestamp ?? "");
  if (createdMs < Date.parse(spec.expiresAt ?? "")) return true;
  if (findRestoredAt(object) || !["accepted", "new"].includes(identityStateOf(object))) return false;
  const isObserved = (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0);
  return isObserved && findCondition(status?.conditions, "Stalled")?.reason !== EXPIRED;
}

/** The ids of the notices that count now: of an object that is due, all of its end. */
export function listNoticeIds(object: ProjectedObject, now: Date): string[] {
  const due = findDueNotice(object.object.spec.expiresAt, now);
  if (due !== undefined) return [identifyNotice(object, due)];
  if (!isDue(object.object, now)) return [];
  return [ENDED, ...NOTICES.map(({ name }) => name)].map((name) => identifyNotice(object, name));
}

/** Whether a notice of this very end was sent before it or an hour ago. `sentAt` has the time of each notice by its id. */
export function isAnnounced(
  object: ProjectedObject,
  sentAt: ReadonlyMap<string | null, Date>,
  now: Date,
): boolean {
  const endMs = Date.parse(object.object.spec.expiresAt ?? "");
  const times = listNoticeIds(object, now).flatMap((id) => sentAt.get(id)?.getTime() ?? []);
  return times.some((ms) => ms < endMs || ms + HOUR_MS <= now.getTime());
}

/**
 * The notice that is to be sent of an object, as an event of its cluster. Its id is made of the object, its end and the notice, so
 * that the feed has it once, whoever sends it, for 7 days: after that one before the end is not due any more, and the hour after an
 * end begins anew.
 */
export function composeNotice(object: ProjectedObject, now: Date): NewSystemEvent | undefined {
  const { metadata, spec, status } = object.object;
  // By a hold of the platform or the suspension of its cluster: the deletion would be refused.
  const isHeld = findCondition(status?.conditions, "ExpiryHeld") !== undefined;
  const hasEnded = isDue(object.object, now) && !isHeld;
  const notice = hasEnded ? ENDED : findDueNotice(spec.expiresAt, now);
  if (notice === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  const end = toEnd(object);
  const isPool = "clusterId" in object;
  const noun = isPool ? "node pool" : "cluster";
  const effect =
    spec.deletionProtection === true
      ? "would be deleted then, which deletion_protection holds back"
      : `is deleted ${hasEnded ? "in an hour" : "then"}. Set expires_at to a later time or to null, or deletion_protection to true, to keep it`;
  return {
    kind: "system-event",
    orgId: object.orgId,
    clusterId: isPool ? object.clusterId : object.id,
    nodePoolId: isPool ? object.id : null,
    eventUid: identifyNotice(object, notice),
    eventCount: 1,
    payload: {
      type: "Warning",
      reason: "Expiring",
      message: `The ${noun} ${object.displayName} ${hasEnded ? "has ended" : "ends"} at ${end}: it ${effect}.`,
      source: "operator",
      object: { kind: isPool ? "NodePool" : "Cluster", name: object.displayName },
      count: 1,
      firstSeenAt: now.toISOString(),
      lastSeenAt: now.toISOString(),
    },
  };
}

function identifyNotice(object: ProjectedObject, notice: string): string {
  return toUuid(`${object.uid} ${toEnd(object)} ${notice}`);
}

function toEnd({ object }: ProjectedObject): string {
  return new Date(object.spec.expiresAt ?? "").toISOString();
}

/** A UUID made of a text (RFC 9562, version 8). */
function toUuid(text: string): string {
  const hex = createHash("sha256").update(`expiry ${text}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
