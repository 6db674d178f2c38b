import type { z } from "@hono/zod-openapi";
import { ANNOTATION_REPLACE_PREFIX } from "../../shared/crd/names.ts";
import type { NodePool, NodePoolMachine } from "../../shared/crd/node-pool.ts";
import type { PageRequest } from "../http/contract/page.ts";
import type { ProjectedNodePool } from "../projection/store.ts";
import type { NodeStatusName, nodeRecord } from "./node-schema.ts";

export type NodeRecord = z.output<typeof nodeRecord>;

/** One page of a pool's machines and one more, in the order of their uid. */
export function pageMachines({ object }: ProjectedNodePool, { cursor, limit }: PageRequest) {
  return (object.status?.machines ?? [])
    .map((machine) => ({ ...machine, id: machine.uid }))
    .filter(({ id }) => cursor === undefined || id > cursor)
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
    .slice(0, limit + 1);
}

/** The machine whose node has this name; undefined for a machine that has no node yet. */
export function findMachineOf(pool: NodePool, node: string): NodePoolMachine | undefined {
  return pool.status?.machines?.find((machine) => machine.node === node);
}

/** Whether somebody has asked for a machine to be replaced, or its replacement has begun. */
export function isReplacing({ metadata, status }: NodePool, { uid, node }: NodePoolMachine): boolean {
  const isAsked =
    node !== undefined && metadata.annotations?.[`${ANNOTATION_REPLACE_PREFIX}${node}`] !== undefined;
  return isAsked || (status?.replacements ?? []).some(({ machineUID }) => machineUID === uid);
}

/** One node of a pool, as its machine was last observed. */
export function presentNode(pool: ProjectedNodePool, machine: NodePoolMachine): NodeRecord {
  return {
    id: machine.uid,
    node_pool_id: pool.id,
    name: machine.node ?? machine.name,
    status: nodeStatusOf(machine),
    replacing: isReplacing(pool.object, machine),
    version: machine.version?.replace(/^v/, "") ?? null,
    conditions: [{ type: "Ready", status: readyOf(machine) }],
    created_at: new Date(machine.createdAt).toISOString(),
  };
}

/** The phases are those of the engine's machines. */
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
