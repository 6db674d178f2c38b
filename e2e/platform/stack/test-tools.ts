import { join } from "node:path";
import { fetchGoModule } from "./go-module.ts";
import { ensureGoTool } from "./go-tool.ts";

/** Programs that tests alone use, and what each is built from. */
const TOOLS = {
  "argo-cd-health": { module: "argo-cd", goPackage: "./health", sources: ["health/main.go"] },
  "kubeconfig-secretreader": {
    module: "cluster-inventory",
    goPackage: "sigs.k8s.io/cluster-inventory-api/plugins/kubeconfig-secretreader/cmd/plugin",
  },
  kstatus: { module: "testing", goPackage: "./kstatus", sources: ["kstatus/main.go"] },
  kubeconform: { module: "chart", goPackage: "github.com/yannh/kubeconform/cmd/kubeconform" },
  toxiproxy: { module: "testing", goPackage: "github.com/Shopify/toxiproxy/v2/cmd/server" },
} as const;

/** The CustomResourceDefinition of ClusterProfile, as the multicluster SIG publishes it. */
export async function fetchClusterProfileDefinition(): Promise<string> {
  const moduleDir = join(import.meta.dirname, "tools", TOOLS["kubeconfig-secretreader"].module);
  const folder = await fetchGoModule(moduleDir, "sigs.k8s.io/cluster-inventory-api");
  return join(folder, "config", "crd", "bases", "multicluster.x-k8s.io_clusterprofiles.yaml");
}

/** The path of a program for tests, built at its first use: seconds after the stack's own build. */
export function ensureTestTool(name: keyof typeof TOOLS): Promise<string> {
  const { module, ...tool } = TOOLS[name];
  return ensureGoTool({ name, moduleDir: join(import.meta.dirname, "tools", module), ...tool });
}
