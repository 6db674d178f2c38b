import { ensureGoTool } from "../../platform/stack/go-tool.ts";

/** oasdiff compares an interface with its released version, helm-docs writes the table of a chart's values. */
const PACKAGES = {
  "helm-docs": "github.com/norwoodj/helm-docs/cmd/helm-docs",
  oasdiff: "github.com/oasdiff/oasdiff",
} as const;

/** The path of a program, built at its first use: oasdiff takes 40 s of CPU. */
export function ensureGateTool(name: keyof typeof PACKAGES): Promise<string> {
  return ensureGoTool({ name, goPackage: PACKAGES[name], moduleDir: import.meta.dirname });
}
