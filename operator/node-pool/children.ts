import type { NodePool } from "../../shared/crd/node-pool.ts";
import { autoscalingRange, isAutoscaled } from "../../shared/crd/node-pool-rules.ts";
import type { DesiredPool, PoolDefaults } from "../capi/worker-pool.ts";
import { findFixedCount } from "../identity/released-count.ts";

/** The entry of a pool in the topology of its cluster: its only child. `presentNodes` as of findPresentNodes. */
export function composeDesiredPool(
  pool: NodePool,
  defaults: PoolDefaults,
  presentNodes?: number,
): DesiredPool {
  const { spec } = pool;
  return {
    name: pool.metadata.name,
    size: isAutoscaled(spec)
      ? { kind: "autoscaled", ...autoscalingRange(spec) }
      : { kind: "fixed", nodes: findFixedCount(pool, presentNodes) },
    presentNodes,
    machine: { vcpus: spec.vcpus, memoryGB: spec.memoryGB, diskGB: spec.diskGB },
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
