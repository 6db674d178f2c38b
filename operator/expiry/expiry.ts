import type { NewCondition, Problem } from "../../shared/controller/conditions.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { EXPIRED } from "../../shared/crd/conditions.ts";
import { isExpired, isProtected, isRestoredAfterExpiry } from "../../shared/crd/fields.ts";
import { ANNOTATION_HOLD, LABEL_PROTECTED } from "../../shared/crd/names.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { ADVICE_BY_REASON } from "../../shared/crd/rest-words.ts";
import type { Namespace } from "../../shared/kube/core-kinds.ts";
import type { Store } from "../../shared/kube/store.ts";
import { displayNameOf, isDeleting } from "../identity/identity.ts";

type Expiring = Cluster | NodePool;
type Noun = "cluster" | "node pool";

/** Timers take no more than 24 days, and a clock that is set meanwhile is followed within a day. */
const LONGEST_WAIT_MS = 24 * 60 * 60_000;

/** Why nothing is made of an object of which there is nothing yet: GitOps would recreate it after each expiry. */
export function findExpired(noun: Noun, object: Expiring, now: Date): Problem | undefined {
  if (!isExpired(object.spec, now)) return undefined;
  const message = `The ${noun} ${displayNameOf(object)} is past its end date, spec.expiresAt ${object.spec.expiresAt}, and nothing of it is made. Delete it, or set spec.expiresAt to a later time.`;
  return { reason: EXPIRED, message };
}

/**
 * Whether a pool that is not in the live topology of its cluster is past its end date, so that it is not put there. One that was
 * ready comes back with a cluster that is made again.
 */
export function isExpiredNewPool({ spec, status }: NodePool, topologyPool: unknown, now: Date): boolean {
  return topologyPool === undefined && status?.firstReadyAt === undefined && isExpired(spec, now);
}

/** What keeps an object from its deletion, first what has to end first, and what to do. Of a suspended cluster REST changes no pool. */
function findDeletionObstacle(object: Expiring, isSuspended: boolean) {
  const { metadata, spec, kind } = object;
  const later = "set spec.expiresAt to a later time";
  if (isSuspended) {
    const cause = "its cluster is suspended. Ask the platform's operator to resume that";
    return { reason: "Suspended", cause };
  }
  if (isRestoredAfterExpiry(object))
    return { reason: "Restored", cause: `it came back from a backup after that. Delete it, or ${later}` };
  if (spec.deletionProtection === true) {
    const cause = `spec.deletionProtection is true. Set it to false to have it deleted, or ${later}`;
    return { reason: "DeletionProtected", cause };
  }
  if (kind === clusterKind.kind && metadata.annotations?.[ANNOTATION_HOLD] !== undefined)
    return { reason: "Held", cause: `the platform holds it. Ask the platform's operator, or ${later}` };
  return undefined;
}

/** Why an object is still there after its end date; undefined = it is not, or nothing keeps it. */
export function findExpiryHeld(
  noun: Noun,
  object: Expiring,
  now: Date,
  { isSuspended = false }: { isSuspended?: boolean | undefined } = {},
): Problem | undefined {
  if (!isExpired(object.spec, now) || isDeleting(object)) return undefined;
  const obstacle = findDeletionObstacle(object, isSuspended);
  if (obstacle === undefined) return undefined;
  const message = `The ${noun} ${displayNameOf(object)} was to be deleted at ${object.spec.expiresAt}, which is held back: ${obstacle.cause}.`;
  return { reason: obstacle.reason, message };
}

/** In how many ms to look again at an object whose end date is ahead. */
export function findExpiryWaitMs({ spec: { expiresAt } }: Expiring, now: Date): number | undefined {
  const leftMs = Date.parse(expiresAt ?? "") - now.getTime();
  return leftMs > 0 ? Math.min(leftMs, LONGEST_WAIT_MS) : undefined;
}

/** The Namespace of an object, as far as a deletion is concerned. */
export interface NamespaceState {
  /** Marina's API server has labelled it: a deletion of it is refused. */
  isLabelled: boolean;
  isDeleting: boolean;
}

/** Reads it from the cache. */
export function observeNamespace(namespaces: Pick<Store<Namespace>, "get">, name = ""): NamespaceState {
  const { labels, deletionTimestamp } = namespaces.get(name)?.metadata ?? {};
  return { isLabelled: labels?.[LABEL_PROTECTED] !== undefined, isDeleting: deletionTimestamp !== undefined };
}

/** Whether the protection of an object holds in every way, its Namespace included; none where it has none. */
export function decideProtection(
  noun: Noun,
  object: Expiring,
  namespace: NamespaceState,
): NewCondition<"DeletionProtected">[] {
  if (!isProtected(object)) return [];
  const type = "DeletionProtected";
  const subject = `The ${noun} ${displayNameOf(object)}`;
  if (namespace.isDeleting) {
    const message = `${subject} stays, for it is protected from deletion, but what it consists of is being deleted and is not made again. ${ADVICE_BY_REASON.NamespaceDeleting.kubectl}`;
    return [{ type, status: "False", reason: "NamespaceDeleting", message }];
  }
  if (namespace.isLabelled) {
    const how = noun === "cluster" ? "cannot be deleted" : "can only be deleted together with its cluster";
    return [{ type, status: "True", reason: "Protected", message: `${subject} ${how}.` }];
  }
  const message = `${subject} is protected from deletion, but not in every way yet. ${ADVICE_BY_REASON.ProtectionPending.kubectl}`;
  return [{ type, status: "False", reason: "ProtectionPending", message }];
}

/** How many of these are protected in Namespaces that are being deleted. */
export function countLeftInDeleted(
  objects: readonly Expiring[],
  namespaces: Pick<Store<Namespace>, "get">,
): number {
  const isLeft = (object: Expiring) =>
    isProtected(object) && observeNamespace(namespaces, object.metadata.namespace).isDeleting;
  return objects.filter(isLeft).length;
}
