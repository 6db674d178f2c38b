import { ensureGoTool } from "../stack/go-tool.ts";

/** Programs that compare an interface with its released version. */
const PACKAGES = {
  oasdiff: "github.com/oasdiff/oasdiff",
} as const;

/** The path of a program, built at its first use: oasdiff takes 40 s of CPU. */
export function ensureGateTool(name: keyof typeof PACKAGES): Promise<string> {
  return ensureGoTool({ name, goPackage: PACKAGES[name], moduleDir: import.meta.dirname });
}
