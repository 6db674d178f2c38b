import { sql } from "drizzle-orm";
import type { z } from "zod";
import { recordSystemAudits } from "../../audit/index.ts";
import type { Queryable } from "../../db/client.ts";
import { type NewWebhookEvent, newEvent } from "../../events/emit.ts";
import {
  clusterCreated,
  clusterDegraded,
  clusterDeleted,
  clusterReady,
  clusterUpgraded,
  nodeReplaced,
} from "./event-schema.ts";
import {
  clusterIdOf,
  isPool,
  type ProjectedCluster,
  type ProjectedNodePool,
  type ProjectedObject,
} from "./project.ts";
import { transitions } from "./table.ts";

type Written = typeof transitions.$inferSelect;

/** A transition that was just written for an object, with the last one before it that the log has. */
type Gap = Pick<Written, "objectId" | "objectKind" | "orgId"> & { sequence: number; last: number };

/** The transitions of one object, in order. */
interface ObjectTransitions {
  object: ProjectedObject;
  entries: readonly TransitionEntry[];
}

/**
 * Writes the transitions that are not in the log yet, in the order given, and records in the audit log those that no
 * process saw while the status listed them. Returns how many these are, and the webhook events of those that it wrote:
 * each is returned once, whichever process observes the transition first.
 */
export async function recordTransitions(
  tx: Queryable,
  objects: readonly ObjectTransitions[],
): Promise<{ webhookEvents: NewWebhookEvent[]; missed: number }> {
  const rows = objects.flatMap(({ object, entries }) =>
    entries.map((entry) => ({
      ...entry,
      objectKind: isPool(object) ? ("node_pool" as const) : ("cluster" as const),
      objectId: object.id,
      orgId: object.orgId,
      clusterId: clusterIdOf(object),
    })),
  );
  if (rows.length === 0) return { webhookEvents: [], missed: 0 };
  const written = await tx.insert(transitions).values(rows).onConflictDoNothing().returning();
  const missed = await auditMissed(tx, written);
  const objectsById = new Map(objects.map(({ object }) => [object.id, object]));
  const webhookEvents = written.flatMap((row) => {
    const object = objectsById.get(row.objectId);
    return (object && webhookEventOf(object, row)) ?? [];
  });
  return { webhookEvents, missed };
}

/**
 * Records in the audit log when the sequence of an object's transitions has a gap: a status lists the last 16, so the
 * older ones of an object that no process observed for long are lost, and no webhook gets them. Returns how many.
 */
async function auditMissed(tx: Queryable, written: readonly Written[]): Promise<number> {
  const gaps = await findGaps(tx, written);
  await recordSystemAudits(
    tx,
    "projector",
    gaps.map(({ objectId, objectKind, orgId, sequence, last }) => ({
      action: `${objectKind}.transitions_missed`,
      orgId,
      target: { kind: objectKind, id: objectId },
      after: { firstMissed: last + 1, lastMissed: sequence - 1 },
      result: "done" as const,
    })),
  );
  return gaps.reduce((sum, { sequence, last }) => sum + sequence - last - 1, 0);
}

async function findGaps(tx: Queryable, written: readonly Written[]): Promise<Gap[]> {
  // The first transition of an object has no predecessor.
  const later = written.flatMap(({ objectId, objectKind, orgId, sequence }) =>
    sequence === null || sequence === 1 ? [] : [{ objectId, objectKind, orgId, sequence }],
  );
  if (later.length === 0) return [];
  return tx.execute<Gap>(sql`
    select written.*, before.last
    from json_to_recordset(${JSON.stringify(later)}::text::json)
      as written ("objectId" uuid, "objectKind" text, "orgId" uuid, sequence integer)
    cross join lateral (select coalesce(max(known.sequence), 0) as last from ${transitions} as known
      where known.org_id = written."orgId" and known.object_id = written."objectId"
        and known.sequence < written.sequence) as before
    where before.last < written.sequence - 1`);
}

/** One entry of the transition log of a cluster or node pool. `type` is in snake case. */
interface TransitionEntry {
  type: string;
  at: Date;
  /** Position in the object's own history; null for transitions that the object itself does not record. */
  sequence: number | null;
  details: Record<string, string>;
}

/**
 * The entries that the transition log must hold for an object: its creation, and every transition that its status still
 * lists. The log's unique keys skip existing entries, so all of them can be written at every observation.
 */
export function transitionEntriesOf({ object }: ProjectedCluster | ProjectedNodePool): TransitionEntry[] {
  const created = {
    type: "created",
    at: new Date(object.metadata.creationTimestamp ?? 0),
    sequence: null,
    details: {},
  };
  const reported = (object.status?.transitions ?? []).map(({ sequence, type, at, ...details }) => ({
    type: toSnakeCase(type),
    at: new Date(at),
    sequence,
    details: Object.fromEntries(
      Object.entries(details).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    ),
  }));
  return [created, ...reported];
}

/** The log entry of a deleted object. */
export function deletedEntry(at: Date): TransitionEntry {
  return { type: "deleted", at, sequence: null, details: {} };
}

/** Whether the status lists transitions that it did not list before. */
export function hasNewTransitions(
  before: ProjectedCluster["object"] | ProjectedNodePool["object"],
  after: ProjectedCluster["object"] | ProjectedNodePool["object"],
): boolean {
  return before.status?.transitions?.at(-1)?.sequence !== after.status?.transitions?.at(-1)?.sequence;
}

function toSnakeCase(type: string): string {
  return type.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}

/**
 * The status that a cluster enters by a transition, and the webhook event for it. Of a deleted cluster it is the last one that
 * REST showed: there is no status "deleted".
 */
const CLUSTER_EVENTS = {
  created: { definition: clusterCreated, status: "provisioning" },
  ready: { definition: clusterReady, status: "running" },
  upgraded: { definition: clusterUpgraded, status: "running" },
  degraded: { definition: clusterDegraded, status: "degraded" },
  deleted: { definition: clusterDeleted, status: "deleting" },
} as const;

/** The webhook event of a transition that was just recorded; undefined for those that have none. */
export function webhookEventOf(
  object: ProjectedObject,
  entry: Pick<TransitionEntry, "type" | "at" | "details">,
): NewWebhookEvent | undefined {
  return isPool(object) ? eventOfPool(object, entry) : eventOfCluster(object, entry);
}

function eventOfCluster(
  { id, orgId, displayName, object }: ProjectedCluster,
  { type, at, details }: Pick<TransitionEntry, "type" | "at" | "details">,
): NewWebhookEvent | undefined {
  if (!isClusterEvent(type)) return undefined;
  const { definition, status } = CLUSTER_EVENTS[type];
  const { version, previousVersion, reason } = details;
  const data: z.output<typeof definition.data> = {
    cluster_id: id,
    org_id: orgId,
    name: displayName,
    status,
    k8s_version: version ?? object.status?.version ?? object.status?.targetVersion ?? object.spec.version,
    ...(previousVersion !== undefined && { previous_version: previousVersion }),
    ...(reason !== undefined && { reason }),
  };
  return newEvent(definition, { orgId, occurredAt: at, data });
}

function isClusterEvent(type: string): type is keyof typeof CLUSTER_EVENTS {
  return Object.hasOwn(CLUSTER_EVENTS, type);
}

function eventOfPool(
  { id, orgId, clusterId }: ProjectedNodePool,
  { type, at, details }: Pick<TransitionEntry, "type" | "at" | "details">,
): NewWebhookEvent | undefined {
  if (type !== "node_replaced") return undefined;
  const { oldNode, newNode, reason } = details;
  const data = {
    cluster_id: clusterId,
    node_pool_id: id,
    old_node: oldNode ?? null,
    new_node: newNode ?? "",
    reason: reason ?? "Unknown",
  };
  return newEvent(nodeReplaced, { orgId, occurredAt: at, data });
}
