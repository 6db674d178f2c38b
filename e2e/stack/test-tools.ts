import { join } from "node:path";
import { ensureGoTool } from "./go-tool.ts";

/** Programs that tests alone use, and what each is built from. */
const TOOLS = {
  kstatus: { goPackage: "./kstatus", sources: ["kstatus/main.go"] },
  toxiproxy: { goPackage: "github.com/Shopify/toxiproxy/v2/cmd/server" },
} as const;

/** The path of a program for tests, built at its first use: seconds after the stack's own build. */
export function ensureTestTool(name: keyof typeof TOOLS): Promise<string> {
  return ensureGoTool({ name, moduleDir: join(import.meta.dirname, "tools", "testing"), ...TOOLS[name] });
}
