import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import type { Stack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { type Engineer, machineDeploymentKind, machineKind } from "../testing/custom-resources.ts";
import { startOperator } from "./operator-process.ts";

export const OF_POOL = "topology.cluster.x-k8s.io/deployment-name=workers";

/** Replaces the stack's operator by one with other settings, as a new release would, while `use` runs. */
export async function withOperator(
  stack: Stack,
  settings: Record<string, string>,
  use: () => Promise<void>,
): Promise<void> {
  const part = stack.part("operator");
  await part.kill("SIGTERM");
  const other = startOperator(stack.info, "operator-with-other-settings", settings);
  try {
    await use();
  } finally {
    await other.signal("SIGTERM");
    await part.start();
  }
}

/** Sets a node of the cluster `existing` to not ready, by Cluster API's kubeconfig of it. */
export async function breakNode(stack: Stack, { client, namespace }: Engineer, node: string): Promise<void> {
  const secret = await client.get(secretKind, namespace, "existing-kubeconfig");
  const file = join(dirname(stack.info.kubeconfig), "tenant.kubeconfig");
  writeFileSync(file, Buffer.from(secret?.data?.value ?? "", "base64"), { mode: 0o600 });
  const conditions = [{ type: "Ready", status: "False", reason: "Dead", message: "" }];
  const patch = JSON.stringify({ status: { conditions } });
  await kubectl(["patch", "node", node, "--type=merge", "-p", patch], {
    kubeconfig: file,
    stack: stack.info,
  });
}

/**
 * What a rollout of the cluster `existing` would change: its Machines and the generations of its MachineDeployments.
 */
export async function readRollout({ client, namespace }: Engineer) {
  const ofExisting = { namespace, labelSelector: "cluster.x-k8s.io/cluster-name=existing" };
  const machines = await client.listAll(machineKind, ofExisting);
  const deployments = await client.listAll(machineDeploymentKind, ofExisting);
  return {
    machines: machines.map(({ metadata }) => metadata.uid ?? "").toSorted(compare),
    deployments: deployments
      .map(({ metadata }) => `${metadata.name} ${metadata.generation}`)
      .toSorted(compare),
  };
}

/** Upgrades a cluster, and waits until it runs the version as one of this class. */
export async function upgradeInto(engineer: Engineer, name: string, to: { version: string; class: string }) {
  await engineer.patchCluster(name, { spec: { version: to.version } });
  await waitFor(`${name} to run ${to.version} as one of ${to.class}`, async () => {
    const { status } = await engineer.getCluster(name);
    const { version = "", clusterClass, phase, message } = status ?? {};
    if (version.startsWith(to.version) && clusterClass === to.class && phase === "Ready") return true;
    throw new Error(`${phase}, ${version} of ${clusterClass}: ${message}`);
  });
}

function compare(left: string, right: string): number {
  return left < right ? -1 : 1;
}
