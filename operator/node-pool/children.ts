import { MAX_MACHINES_PER_POOL } from "../../shared/crd/fields.ts";
import type { NodePool } from "../../shared/crd/node-pool.ts";
import { autoscalingRange, isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import { findFixedCount } from "../capi/pool-replicas.ts";
import type { MachineState } from "../capi/pool-state.ts";
import type { DesiredPool, PoolDefaults } from "../capi/worker-pool.ts";

/** The entry of a pool in the topology of its cluster: its only child. */
export function composeDesiredPool(
  pool: NodePool,
  defaults: PoolDefaults,
  liveReplicas?: number,
): DesiredPool {
  const { spec } = pool;
  return {
    name: pool.metadata.name,
    scale: isAutoscaled(spec)
      ? { kind: "autoscaled", ...autoscalingRange(spec) }
      : { kind: "fixed", nodes: findFixedCount(pool, liveReplicas) },
    liveReplicas,
    machineSize: { vcpus: spec.vcpus, memoryGB: spec.memoryGB, diskGB: spec.diskGB },
    labels: spec.nodeLabels ?? {},
    taints: (spec.nodeTaints ?? []).map(({ key, value, effect }) => ({
      key,
      ...(value !== undefined && { value }),
      effect,
    })),
    drainTimeoutSeconds: spec.drainTimeoutSeconds ?? defaults.drainTimeoutSeconds,
    volumeDetachTimeoutSeconds: defaults.volumeDetachTimeoutSeconds,
    nodeDeletionTimeoutSeconds: defaults.nodeDeletionTimeoutSeconds,
    scaleDownDelaySeconds: spec.scaleDownDelaySeconds ?? defaults.scaleDownDelaySeconds,
    scaleDownUtilizationPercent: spec.scaleDownUtilizationPercent ?? defaults.scaleDownUtilizationPercent,
  };
}

/** What a rollout, or the replacement of nodes, may add to the machines of a pool meanwhile. */
const ROLLOUT_MACHINES = 100;

/** So many leave before a pool grows into their room: each growth is a write of its cluster in Cluster API. */
const GROWTH_MACHINES = 50;

/**
 * The pool, limited to the machines that its status can list, by which they are billed. Those that are being deleted, for an hour
 * where a drain lasts so long, are listed beside their successors. A pool is never made smaller by it, and grows as they go.
 */
export function limitGrowth(
  pool: DesiredPool,
  machines: readonly Pick<MachineState, "deleting">[],
): DesiredPool {
  const { liveReplicas = 0 } = pool;
  const staying = Math.min(liveReplicas, machines.filter(({ deleting }) => !deleting).length);
  const leaving = machines.length - staying;
  const room = MAX_MACHINES_PER_POOL - ROLLOUT_MACHINES - leaving;
  return { ...pool, nodeCap: Math.max(liveReplicas, room - (room % GROWTH_MACHINES)) };
}
