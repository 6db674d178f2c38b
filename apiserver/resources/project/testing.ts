import { eq } from "drizzle-orm";
import type { Cluster } from "../../../shared/crd/cluster.ts";
import { ANNOTATION_IDENTITY, LABEL_ID } from "../../../shared/crd/names.ts";
import type { NodePool } from "../../../shared/crd/node-pool.ts";
import { createId } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { Observation } from "./batches.ts";
import {
  type ProjectedCluster,
  type ProjectedNodePool,
  type ProjectedObject,
  toProjectedCluster,
  toProjectedNodePool,
} from "./project.ts";
import { transitions } from "./table.ts";

/** The n-th Cluster of an organization, as created by kubectl. */
export function aCluster(orgId: string, n: number): Cluster {
  const uid = crypto.randomUUID();
  return {
    apiVersion: "cloud.marina.dev/v1",
    kind: "Cluster",
    metadata: {
      name: `c-${n}`,
      namespace: `org-${orgId}`,
      uid,
      resourceVersion: String(100 + n),
      creationTimestamp: "2026-11-21T09:00:00Z",
      labels: { [LABEL_ID]: createId() },
      annotations: { [ANNOTATION_IDENTITY]: `new ${uid}` },
      managedFields: [
        { manager: "kubectl", operation: "Update", fieldsV1: { "f:spec": { "f:version": {} } } },
      ],
    },
    spec: { displayName: `Name ${n}`, version: "1.34.2", publicEndpoint: true },
  };
}

/** Like aCluster, projected. */
export function projected(
  orgId: string,
  n: number,
  change: Partial<ProjectedCluster> = {},
): ProjectedCluster {
  const object = toProjectedCluster(aCluster(orgId, n), orgId);
  if (object === undefined) throw new Error("not projected");
  return { ...object, ...change };
}

/** The n-th node pool of an organization, of this cluster. */
export function projectedPool(
  { orgId, id, name }: Pick<ProjectedCluster, "orgId" | "id" | "name">,
  n: number,
): ProjectedNodePool {
  const pool: NodePool = {
    ...aCluster(orgId, n),
    kind: "NodePool",
    spec: {
      clusterName: name,
      displayName: `Name ${n}`,
      vcpus: 1,
      memoryGB: 1,
      diskGB: 10,
      minNodes: 1,
      maxNodes: 1,
      desiredNodes: 1,
    },
  } as NodePool;
  const object = toProjectedNodePool(pool, orgId, id);
  if (object === undefined) throw new Error("not projected");
  return object;
}

/** The object's transition log, oldest first. */
export async function readTransitionTypes(db: Queryable, objectId: string): Promise<string[]> {
  const rows = await db
    .select({ type: transitions.type })
    .from(transitions)
    .where(eq(transitions.objectId, objectId))
    .orderBy(transitions.id);
  return rows.map(({ type }) => type);
}

/** A deterministic generator of random numbers. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export const TRANSITION_TYPES = ["Ready", "Degraded", "Recovered", "Upgraded"] as const;
const STATUSES = ["provisioning", "running", "degraded"] as const;
const CLUSTERS = 5;

/**
 * Observations of five clusters with a pool each of a new organization: changes, stale observations, deletions, the
 * same namespaced name with another uid, and the same id with another namespaced name.
 */
export function createObservations(orgId: string, random: (below: number) => number): Observation[] {
  const clusters = Array.from({ length: CLUSTERS }, (_, n) => projected(orgId, n));
  const objects: ProjectedObject[] = [
    ...clusters,
    ...clusters.map((cluster, n) => projectedPool(cluster, CLUSTERS + n)),
  ];
  let version = 1_000n;
  const step = (): Observation => {
    const n = random(objects.length);
    const before = objects[n];
    if (before === undefined) throw new Error("no such object");
    version += 1n;
    const what = random(10);
    if (what === 0) return { object: before, deleted: true };
    if (what === 1) return { object: { ...before, resourceVersion: before.resourceVersion - 1n } };
    if (what === 2) return { object: { ...before, uid: crypto.randomUUID(), name: `impostor-${n}` } };
    if (what === 3) objects[n] = { ...before, uid: crypto.randomUUID(), resourceVersion: version };
    else if (what === 4)
      objects[n] = { ...before, displayName: `Name ${n}, ${version}`, resourceVersion: version };
    else objects[n] = changeStatus(before, version, random);
    return { object: objects[n] ?? before };
  };
  // A pool is written once its cluster is.
  return [...clusters.map((object) => ({ object })), ...Array.from({ length: 120 }, step)];
}

function changeStatus(
  before: ProjectedObject,
  version: bigint,
  random: (below: number) => number,
): ProjectedObject {
  const previous = before.object.status?.transitions ?? [];
  const at = new Date(Date.parse("2026-11-21T10:00:00Z") + Number(version) * 1000).toISOString();
  const type = TRANSITION_TYPES[random(TRANSITION_TYPES.length)] ?? "Ready";
  const status = { transitions: [...previous, { sequence: previous.length + 1, type, at }].slice(-16) };
  return {
    ...before,
    resourceVersion: version,
    status: STATUSES[random(STATUSES.length)] ?? "running",
    object: { ...before.object, status },
  } as ProjectedObject;
}
