import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Config, canRunPods, NODE_AGENT_ENTRY } from "../node-agent/program.ts";
import { StartError } from "../programs/start-error.ts";
import { componentArgs } from "./management-cluster.ts";
import type { Ports } from "./ports.ts";
import { requireHttpOk } from "./probes.ts";
import type { ProcessNode } from "./supervisor.ts";
import type { ToolName, Tools } from "./tools.ts";

export interface WorkloadDeps {
  dir: string;
  ports: Ports;
  tools: Tools;
  kubeconfig: string;
  tokenRefreshSeconds: number | undefined;
}

export const WORKLOAD_PORTS = ["node-agent", "kube-scheduler"] as const;
export const WORKLOAD_TOOLS: readonly ToolName[] = ["kube-scheduler"];

/** Controllers of the controller manager: those that create Pods, and the one that publishes their addresses. */
export const WORKLOAD_CONTROLLERS = [
  "deployment-controller",
  "replicaset-controller",
  "job-controller",
  "endpointslice-controller",
  "disruption-controller",
];

/** Two Nodes, each in a separate zone. */
const NODES = ["node-a", "node-b"];

/** The folder of images: the folder `0.1.0` in it is the root of every image with that tag. */
export function imagesOf(dir: string): string {
  return join(dir, "images");
}

/** Second number of the addresses of Pods and Services in 127.0.0.0/8; stacks of one machine have different ports. */
export function networkOf(ports: Ports): number {
  return 1 + ((ports["node-agent"] ?? 0) % 254);
}

function describeConfig({ dir, ports, kubeconfig, tokenRefreshSeconds }: WorkloadDeps): Config {
  return {
    runDir: dir,
    kubeconfig,
    healthPort: ports["node-agent"] ?? 0,
    nodes: NODES,
    imagesDir: imagesOf(dir),
    nodeBinary: process.execPath,
    network: networkOf(ports),
    kubernetes: { host: "127.0.0.1", port: ports["kube-apiserver"] ?? 0 },
    addressVariable: "MARINA_LISTEN_ADDRESS",
    ...(tokenRefreshSeconds !== undefined && { tokenRefreshSeconds }),
  };
}

/** The real kube-scheduler, and an agent that runs the Pods of two Nodes as processes. */
export function workloadNodes(deps: WorkloadDeps): ProcessNode[] {
  const { dir, ports, tools, kubeconfig } = deps;
  return [
    {
      name: "kube-scheduler",
      after: ["kube-apiserver"],
      process: () => ({
        command: tools.path("kube-scheduler"),
        args: componentArgs(kubeconfig, ports["kube-scheduler"] ?? 0),
        probe: async () => {},
        stopTimeoutMs: 1500,
      }),
    },
    {
      name: "node-agent",
      after: ["kube-apiserver"],
      process() {
        if (!canRunPods())
          throw new StartError("Pods need Linux, root and mount namespaces (unshare --mount).");
        const file = join(dir, "node-agent.json");
        mkdirSync(imagesOf(dir), { recursive: true });
        writeFileSync(file, JSON.stringify(describeConfig(deps), undefined, 2), { mode: 0o600 });
        return {
          command: process.execPath,
          args: [NODE_AGENT_ENTRY, file],
          probe: () => requireHttpOk(`http://127.0.0.1:${ports["node-agent"]}/readyz`),
          stopTimeoutMs: 3000,
        };
      },
    },
  ];
}
