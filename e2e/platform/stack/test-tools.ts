import { join } from "node:path";
import { ensureGoTool } from "./go-tool.ts";

/** Programs that tests alone use, and what each is built from. */
const TOOLS = {
  "argo-cd-health": { module: "argo-cd", goPackage: "./health", sources: ["health/main.go"] },
  kstatus: { module: "testing", goPackage: "./kstatus", sources: ["kstatus/main.go"] },
  kubeconform: { module: "chart", goPackage: "github.com/yannh/kubeconform/cmd/kubeconform" },
  toxiproxy: { module: "testing", goPackage: "github.com/Shopify/toxiproxy/v2/cmd/server" },
} as const;

/** The path of a program for tests, built at its first use: seconds after the stack's own build. */
export function ensureTestTool(name: keyof typeof TOOLS): Promise<string> {
  const { module, ...tool } = TOOLS[name];
  return ensureGoTool({ name, moduleDir: join(import.meta.dirname, "tools", module), ...tool });
}
