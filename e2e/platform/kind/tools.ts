import { StartError } from "../programs/start-error.ts";
import { requireCommand } from "./run-command.ts";
import { CLUSTER_API_VERSION, OLDEST_KIND } from "./settings.ts";

/** What keeps a version of a tool from being used, in one sentence; undefined for one that fits. */
export function findToolFault(tool: "kind" | "clusterctl", output: string): string | undefined {
  const version = /v?(\d+\.\d+\.\d+)/.exec(output)?.[1];
  if (version === undefined) return `The version of ${tool} cannot be read from "${output.trim()}".`;
  if (tool === "clusterctl" && `v${version}` !== CLUSTER_API_VERSION)
    return `clusterctl is ${version}: install ${CLUSTER_API_VERSION}, the version of Cluster API that it is to install.`;
  if (tool === "kind" && compareVersions(version, OLDEST_KIND) < 0)
    return `kind is ${version}: install ${OLDEST_KIND} or newer, which can start the image of the node.`;
  return undefined;
}

function compareVersions(one: string, other: string): number {
  const numbers = other.split(".").map(Number);
  const differences = one.split(".").map((part, index) => Number(part) - (numbers[index] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}

/** Throws StartError with one sentence for a tool that is missing or too old, or a Docker that does not run. */
export async function requireTools(): Promise<void> {
  await requireCommand({ program: "docker", args: ["version"] });
  await requireCommand({ program: "kubectl", args: ["version", "--client"] });
  await requireCommand({ program: "helm", args: ["version"] });
  const versions = {
    kind: await requireCommand({ program: "kind", args: ["version"] }),
    clusterctl: await requireCommand({ program: "clusterctl", args: ["version", "--output=short"] }),
  };
  for (const tool of ["kind", "clusterctl"] as const) {
    const fault = findToolFault(tool, versions[tool]);
    if (fault !== undefined) throw new StartError(fault);
  }
}
