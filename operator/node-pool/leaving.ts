import type { ObservedPool } from "./observe.ts";

const ASK = "If this lasts, ask the platform's operator to look at it.";

/**
 * The first machine of a pool that is being deleted, by its node: what that waits for, and the next step, with a blank in front.
 * Empty when none is, or nothing is reported of it. Drain and volumes are waited for in turn, each for its own time.
 */
export function describeLeavingMachine({ pool, machines, poolDefaults }: ObservedPool): string {
  const leaving = machines.find(({ deletion }) => deletion !== undefined);
  if (leaving?.deletion === undefined) return "";
  const { stage, cause } = leaving.deletion;
  const node = leaving.node ?? leaving.name;
  switch (stage) {
    case "drain": {
      const seconds = pool.spec.drainTimeoutSeconds ?? poolDefaults.drainTimeoutSeconds;
      return ` Node ${node} is being drained: ${cause}. Let these Pods be evicted, as by another disruption budget, or delete them; after ${seconds} s the node is removed all the same.`;
    }
    case "volumes":
      return ` Node ${node} is drained and waits for its volumes: ${cause}. Delete what uses them; after ${poolDefaults.volumeDetachTimeoutSeconds} s the node is removed all the same.`;
    case "infrastructure":
      return ` Node ${node} is drained, and the infrastructure deletes its machine: ${cause}. ${ASK}`;
    case "other":
      return ` Node ${node} is being deleted: ${cause}. ${ASK}`;
  }
}
