import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { startStack } from "../platform/stack/stack.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { createTenant } from "../testing/tenant.ts";
import { median } from "./measure.ts";
import { report } from "./report.ts";

const run = promisify(execFile);
const RUNS = 3;
const POLL_MS = 250;
const DIR = join(import.meta.dirname, "..", "..", ".marina", "bench-create");

/**
 * POST of a cluster with 3 nodes until it is `running` with all its nodes, alternating with Cluster API alone, which
 * creates the same cluster on the same stack until it is Available.
 */
export async function benchCreate(): Promise<void> {
  const stack = await startStack({ dir: DIR, provider: "in-memory", onCrash: "stop" });
  try {
    const ours: number[] = [];
    const alone: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      alone.push(await timeClusterApiAlone(stack.info, `alone-${run}`));
      ours.push(await timeMarina(stack.info, `ours-${run}`));
    }
    report("create", [
      { name: "Cluster API alone: 3 nodes until Available", value: median(alone), unit: "s" },
      { name: "Marina: POST with 3 nodes until running", value: median(ours), unit: "s" },
      { name: "Marina's part (medians)", value: median(ours) - median(alone), unit: "s", limit: 2 },
    ]);
  } finally {
    await stack.stop();
  }
}

async function timeMarina(info: StackInfo, name: string): Promise<number> {
  const alice = createTenant(info.apiUrl, info.tokens.alice);
  const { body: organization } = await alice.request("POST", "/organizations", { name });
  const clusters = `/organizations/${organization.id}/clusters`;
  const startedAt = performance.now();
  const pool = { name: "workers", vcpus: 2, memory_gb: 4, disk_gb: 20, desired_nodes: 3 };
  const { body: cluster } = await alice.request("POST", clusters, {
    name,
    k8s_version: "1.34.2",
    node_pools: [pool],
  });
  const path = `${clusters}/${cluster.id}`;
  await poll(async () => {
    const { body } = await alice.request("GET", path);
    return body.status === "running" && body.nodes.ready === 3;
  });
  const seconds = (performance.now() - startedAt) / 1000;
  await alice.request("DELETE", path);
  await poll(async () => (await alice.request("GET", path)).status === 404);
  return seconds;
}

async function timeClusterApiAlone(info: StackInfo, name: string): Promise<number> {
  const kubectl = async (...args: string[]) =>
    (await run(info.kubectl, ["--kubeconfig", info.kubeconfig, ...args])).stdout;
  await kubectl("create", "namespace", name);
  const classes = JSON.parse(await kubectl("get", "clusterclasses.cluster.x-k8s.io", "-A", "-o", "json"));
  const { metadata, spec } = classes.items[0];
  const manifest = {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: { name, namespace: name },
    spec: {
      topology: {
        classRef: { name: metadata.name, namespace: metadata.namespace },
        version: "v1.34.2",
        controlPlane: { replicas: 1 },
        workers: {
          machineDeployments: [
            { class: spec.workers.machineDeployments[0].class, name: "workers", replicas: 3 },
          ],
        },
      },
    },
  };
  const startedAt = performance.now();
  const applying = execFile(info.kubectl, ["--kubeconfig", info.kubeconfig, "create", "-f", "-"]);
  applying.stdin?.end(JSON.stringify(manifest));
  await poll(async () => {
    const [seen] = JSON.parse(
      await kubectl("get", "clusters.cluster.x-k8s.io", "-n", name, "-o", "json"),
    ).items;
    const available = seen?.status?.conditions?.find(({ type }: { type: string }) => type === "Available");
    return available?.status === "True" && seen.status.workers.readyReplicas === 3;
  });
  const seconds = (performance.now() - startedAt) / 1000;
  await kubectl("delete", "clusters.cluster.x-k8s.io", name, "-n", name);
  await kubectl("delete", "namespace", name, "--wait=false");
  return seconds;
}

async function poll(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 240_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error("waited 240 s without success");
    await sleep(POLL_MS);
  }
}
