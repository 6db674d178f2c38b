import type { ObservedPool } from "./observe.ts";
import type { PoolProgress } from "./progress.ts";

/** What is left of a pool, and of the first machine being deleted what blocks it, with the next step. */
export function describeDeletion({ pool, cluster, machines }: ObservedPool): string {
  if (cluster?.suspended) return `Deletion waits: the cluster ${pool.spec.clusterName} is suspended.`;
  if (machines.length === 0) return "The pool is being deleted.";
  const left = `The pool is being deleted; machines left: ${machines.length}.`;
  const blocked = machines.find(({ deletion }) => deletion !== undefined);
  if (blocked === undefined) return left;
  return `${left} Machine ${blocked.name} is being deleted: ${blocked.deletion}. If this lasts, ask the platform's operator to look at it.`;
}

/** The oldest machine that has not joined, what it waits for, and the next step. */
export function describeLateMachine({ joining }: PoolProgress): string {
  const [late] = joining;
  if (late === undefined) return " If this lasts, ask the platform's operator to look at the node pool.";
  return ` Machine ${late.name} has not joined: ${late.waitsFor}. If this lasts, ask the platform's operator to look at it.`;
}

export function describeUnhealthyNodes(names: readonly string[]): string {
  return `Unhealthy nodes: ${names.join(", ")}. Cluster API replaces them if its health checks cover them; otherwise replace them by hand.`;
}
