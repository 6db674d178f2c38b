import type { Context } from "./context.ts";
import { FIELD_MANAGER } from "./context.ts";
import { type Node, nodeKind } from "./kinds.ts";
import { HOST_ADDRESS } from "./pod.ts";

/** More than any test needs: nothing limits the processes of a Pod here. */
const CAPACITY = { cpu: "64", memory: "256Gi", pods: "200", "ephemeral-storage": "1Ti" };

/** The Node of a machine with the agent; each is in a separate zone. */
export function composeNode(name: string): { labels: Record<string, string>; status: object } {
  return {
    labels: {
      "kubernetes.io/hostname": name,
      "kubernetes.io/os": "linux",
      "topology.kubernetes.io/zone": `zone-of-${name}`,
    },
    status: {
      capacity: CAPACITY,
      allocatable: CAPACITY,
      addresses: [
        { type: "InternalIP", address: HOST_ADDRESS },
        { type: "Hostname", address: name },
      ],
      conditions: [
        { type: "Ready", status: "True", reason: "NodeAgentReady", message: "runs Pods as processes" },
      ],
    },
  };
}

/** Registers the Nodes, ready for Pods. */
export async function registerNodes({ client, config }: Context): Promise<void> {
  const options = { fieldManager: FIELD_MANAGER };
  for (const name of config.nodes) {
    const { labels, status } = composeNode(name);
    const node: Partial<Node> = { metadata: { name, labels } };
    await client.apply(nodeKind, node, options);
    await client.mergePatch(nodeKind, undefined, name, { status }, { ...options, subresource: "status" });
    // The taint of a new Node is removed by a controller that the stack does not run.
    await client.mergePatch(nodeKind, undefined, name, { spec: { taints: null } }, options);
  }
}
