import type { z } from "@hono/zod-openapi";
import { ANNOTATION_REPLACE_PREFIX } from "../../../shared/crd/names.ts";
import type { NodePool, NodePoolMachine } from "../../../shared/crd/node-pool.ts";
import type { PageRequest } from "../../http/contract/page.ts";
import { notFound } from "../../http/errors.ts";
import type { ProjectedNodePool } from "../../resources/project/index.ts";
import type { NodeStatusName, nodeRecord } from "./schema.ts";

export type NodeRecord = z.output<typeof nodeRecord>;

/** One page of a pool's machines and one more, in the order of their uid. */
export function pageMachines({ object }: ProjectedNodePool, { cursor, limit }: PageRequest) {
  return (object.status?.machines ?? [])
    .map((machine) => ({ ...machine, id: machine.uid }))
    .filter(({ id }) => cursor === undefined || id > cursor)
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
    .slice(0, limit + 1);
}

/** The machine whose node has this name; undefined also while the machine has no node. */
export function findMachine({ status }: NodePool, node: string): NodePoolMachine | undefined {
  return status?.machines?.find((machine) => machine.node === node);
}

/** The machine whose node has this name. Throws 404, also while the machine has no node. */
export function requireMachine(pool: NodePool, node: string): NodePoolMachine {
  const found = findMachine(pool, node);
  if (found === undefined) throw notFound("node");
  return found;
}

/** Whether the replacement of this one machine was requested, or has begun, apart from a rollout. */
export function isReplacing({ metadata, status }: NodePool, { uid, node }: NodePoolMachine): boolean {
  const isRequested =
    node !== undefined && metadata.annotations?.[`${ANNOTATION_REPLACE_PREFIX}${node}`] !== undefined;
  return isRequested || (status?.replacements ?? []).some(({ machineUID }) => machineUID === uid);
}

/**
 * The record of a node whose replacement is under way or has ended, as `known` was when that was requested; undefined while its machine
 * is there and is not being replaced.
 */
export function findReplaced(pool: ProjectedNodePool, known: NodePoolMachine): NodeRecord | undefined {
  const machine = pool.object.status?.machines?.find(({ uid }) => uid === known.uid);
  if (machine === undefined) return { ...presentNode(pool, known), replacing: true };
  return isReplacing(pool.object, machine) ? presentNode(pool, machine) : undefined;
}

/** The node record, from the last observation of its machine. */
export function presentNode(pool: ProjectedNodePool, machine: NodePoolMachine): NodeRecord {
  return {
    id: machine.uid,
    node_pool_id: pool.id,
    name: machine.node ?? machine.name,
    status: nodeStatusOf(machine),
    replacing: isReplacing(pool.object, machine) || machine.outdated === true,
    version: machine.version?.replace(/^v/, "") ?? null,
    conditions: [{ type: "Ready", status: readyOf(machine) }],
    created_at: new Date(machine.createdAt).toISOString(),
  };
}

/** From the phases of Cluster API's Machine. */
function nodeStatusOf({ phase, ready, node }: NodePoolMachine): NodeStatusName {
  if (phase === "Deleting" || phase === "Deleted") return "deleting";
  if (phase === "Failed") return "failed";
  if (ready) return "ready";
  return node === undefined ? "provisioning" : "not_ready";
}

function readyOf({ ready, node }: NodePoolMachine): "True" | "False" | "Unknown" {
  if (ready) return "True";
  return node === undefined ? "Unknown" : "False";
}
