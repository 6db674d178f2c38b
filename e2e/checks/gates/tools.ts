import { PINNED_DIR } from "../../platform/stack/go-module.ts";
import { ensureGoTool } from "../../platform/stack/go-tool.ts";

/** oasdiff compares an interface with its released version, helm-docs writes the table of a chart's values. */
const TOOLS = {
  "helm-docs": {
    module: "github.com/norwoodj/helm-docs",
    goPackage: "github.com/norwoodj/helm-docs/cmd/helm-docs",
  },
  oasdiff: { module: "github.com/oasdiff/oasdiff", goPackage: "github.com/oasdiff/oasdiff" },
} as const;

/** The path of a program, built at its first use: oasdiff takes 40 s of CPU. */
export function ensureGateTool(name: keyof typeof TOOLS): Promise<string> {
  return ensureGoTool({ name, moduleDir: PINNED_DIR, ...TOOLS[name] });
}
