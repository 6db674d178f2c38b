import type { BuildQueue } from "./build-queue.ts";
import { CAPI_MANAGERS } from "./cluster-api-manifests.ts";
import type { Node, StepNode } from "./supervisor.ts";
import { buildNameOf, CAPI_MANIFESTS, KWOK_STAGES } from "./tools.ts";

/** What a part needs built, in addition to the program of its own name. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  etcd: [buildNameOf("etcd")],
  "kube-apiserver": [buildNameOf("kube-apiserver")],
  ...Object.fromEntries(CAPI_MANAGERS.map((manager) => [`${manager} CRDs`, [CAPI_MANIFESTS]])),
  // It starts these for each tenant cluster.
  "local-provider": ["kube-controller-manager", "kube-scheduler", KWOK_STAGES, "kwok"],
  "object-store": ["versitygw"],
};

// A build has no deadline in practice: a slow machine takes an hour for all. setTimeout takes 24 days at most.
const BUILD_DEADLINE_MS = 24 * 60 * 60 * 1000;
const PREFIX = "build ";

/** The name of the node that waits for a build. */
export function buildNodeName(name: string): string {
  return `${PREFIX}${name}`;
}

/** Whether a node only waits for a build. */
export function isBuildNode(name: string): boolean {
  return name.startsWith(PREFIX);
}

/** A node that is done when its program is built. */
export function buildNode(queue: BuildQueue, name: string): StepNode {
  return {
    name: buildNodeName(name),
    after: [],
    run: () => queue.built(name),
    deadlineMs: BUILD_DEADLINE_MS,
  };
}

/**
 * Makes every node wait for the builds that it needs: that of its own name, and those that NEEDS names. The nodes of
 * these builds, and of `programs`, are added to the table.
 */
export function afterBuilds(nodes: readonly Node[], queue: BuildQueue, programs: readonly string[]): Node[] {
  const builds = new Set(programs);
  const waiting = nodes.map((node) => {
    const needed = [node.name, ...(NEEDS[node.name] ?? [])].filter((name) => queue.has(name));
    for (const name of needed) builds.add(name);
    return { ...node, after: [...node.after, ...needed.map(buildNodeName)] };
  });
  return [...[...builds].map((name) => buildNode(queue, name)), ...waiting];
}
