import { sql } from "drizzle-orm";
import { ANNOTATION_REQUEST_ID } from "../../../shared/crd/names.ts";
import type { ExternalAudit, ExternalDeletion } from "../../audit/index.ts";
import { auditLog, awaitedDeletions } from "../../audit/table.ts";
import type { Queryable } from "../../db/client.ts";
import { writeIntents } from "../table.ts";
import {
  clusterIdOf,
  externalWritersOf,
  findExternalCreation,
  isPool,
  type ProjectedObject,
} from "./project.ts";
import { projectedClusters } from "./table.ts";

/**
 * The audit of an object observed for the first time, unless it was created (and audited) by REST. `first` is how it
 * was created, if a version before the observed one was seen.
 */
export function auditsOfCreation(
  object: ProjectedObject,
  first?: ProjectedObject["object"],
): ExternalAudit[] {
  if (object.object.metadata.annotations?.[ANNOTATION_REQUEST_ID] !== undefined) return [];
  const creation =
    first === undefined
      ? findExternalCreation({ writers: object.externalWriters, spec: { ...object.object.spec } })
      : findExternalCreation({
          writers: externalWritersOf(first.metadata.managedFields),
          spec: { ...first.spec },
        });
  if (creation === undefined) return [];
  const kind = isPool(object) ? "node_pool" : "cluster";
  return [
    {
      manager: creation.manager,
      entry: {
        action: `${kind}.create`,
        orgId: object.orgId,
        target: { kind, id: object.id },
        after: creation.after,
        result: "done",
      },
    },
  ];
}

/** Between the clocks of Postgres and the Kubernetes API, and the time that a request takes. */
const TOLERANCE = sql`interval '10 minutes'`;

/** Whether the deletion of an object was requested since it was stored. */
export function hasBegunDeleting(
  stored: ProjectedObject["object"] | undefined,
  object: ProjectedObject,
): boolean {
  return (
    stored?.metadata.deletionTimestamp === undefined && object.object.metadata.deletionTimestamp !== undefined
  );
}

/**
 * Those of these deletions that were requested directly in the Kubernetes API: a request by REST has committed its
 * intent, and then its audit row in the intent's place. A pool that ends with its cluster is not among them, nor what
 * waits for the name of its deleter.
 */
export async function findExternalDeletions(
  tx: Queryable,
  objects: readonly ProjectedObject[],
): Promise<ExternalDeletion[]> {
  if (objects.length === 0) return [];
  const deletions = objects.map((object) => ({
    id: object.id,
    org_id: object.orgId,
    action: isPool(object) ? "node_pool.delete" : "cluster.delete",
    cluster_id: isPool(object) ? clusterIdOf(object) : null,
    at: object.object.metadata.deletionTimestamp ?? new Date().toISOString(),
  }));
  const rows = await tx.execute<{ id: string }>(sql`
    select id from json_to_recordset(${JSON.stringify(deletions)}::text::json)
      as deletion (id text, org_id uuid, action text, cluster_id uuid, at timestamptz)
    where not exists (select from ${auditLog} as entry
        where entry.org_id = deletion.org_id and entry.action = deletion.action
          and entry.target_id = deletion.id and entry.at > deletion.at - ${TOLERANCE})
      and not exists (select from ${awaitedDeletions} as waiting
        where waiting.org_id = deletion.org_id and waiting.target_id = deletion.id)
      and not exists (select from ${writeIntents} as intent
        where intent.verb = 'delete' and intent.object_id = deletion.id::uuid)
      and (cluster_id is null or exists (select from ${projectedClusters} as cluster
        where cluster.id = deletion.cluster_id and cluster.deleted_at is null
          and cluster.object -> 'metadata' ->> 'deletionTimestamp' is null))`);
  const found = new Set(rows.map(({ id }) => id));
  const seenAt = new Date();
  return objects.filter(({ id }) => found.has(id)).map((object) => toDeletion(object, seenAt));
}

function toDeletion(object: ProjectedObject, seenAt: Date): ExternalDeletion {
  const kind = isPool(object) ? "node_pool" : "cluster";
  const { metadata, spec } = object.object;
  const lastWriter = object.externalWriters.at(-1)?.manager;
  return {
    orgId: object.orgId,
    resource: isPool(object) ? "nodepools" : "clusters",
    name: object.name,
    createdAt: new Date(metadata.creationTimestamp ?? 0),
    requestedAt: metadata.deletionTimestamp === undefined ? null : new Date(metadata.deletionTimestamp),
    seenAt,
    entry: {
      action: `${kind}.delete`,
      orgId: object.orgId,
      target: { kind, id: object.id },
      before: { ...spec },
      ...(lastWriter === undefined ? {} : { after: { last_writer: lastWriter } }),
      result: "done",
    },
  };
}
