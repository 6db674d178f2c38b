import { join } from "node:path";
import { fetchPinnedModule, PINNED_DIR } from "./go-module.ts";
import { ensureGoTool } from "./go-tool.ts";

/** Programs that tests alone use, and what each is built from. */
const TOOLS = {
  "argo-cd-health": {
    moduleDir: join(import.meta.dirname, "tools", "argo-cd"),
    goPackage: "./health",
    sources: ["health/main.go"],
  },
  "kubeconfig-secretreader": {
    moduleDir: PINNED_DIR,
    module: "sigs.k8s.io/cluster-inventory-api",
    goPackage: "sigs.k8s.io/cluster-inventory-api/plugins/kubeconfig-secretreader/cmd/plugin",
  },
  kstatus: {
    moduleDir: PINNED_DIR,
    module: "sigs.k8s.io/cli-utils",
    goPackage: "./kstatus",
    sources: ["kstatus/main.go"],
  },
  kubeconform: {
    moduleDir: PINNED_DIR,
    module: "github.com/yannh/kubeconform",
    goPackage: "github.com/yannh/kubeconform/cmd/kubeconform",
  },
  toxiproxy: {
    moduleDir: PINNED_DIR,
    module: "github.com/Shopify/toxiproxy/v2",
    goPackage: "github.com/Shopify/toxiproxy/v2/cmd/server",
  },
} as const;

/** The CustomResourceDefinition of ClusterProfile, as the multicluster SIG publishes it. */
export async function fetchClusterProfileDefinition(): Promise<string> {
  const folder = await fetchPinnedModule(TOOLS["kubeconfig-secretreader"].module);
  return join(folder, "config", "crd", "bases", "multicluster.x-k8s.io_clusterprofiles.yaml");
}

/** The path of a program for tests, built at its first use: seconds after the stack's own build. */
export function ensureTestTool(name: keyof typeof TOOLS): Promise<string> {
  return ensureGoTool({ name, ...TOOLS[name] });
}
