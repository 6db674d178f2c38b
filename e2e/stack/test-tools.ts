import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildProgram, cacheRoot, readGoVersion } from "./tools.ts";

/** Programs that tests alone use. Their module is apart: a change there rebuilds nothing of the stack. */
const PACKAGES = {
  kstatus: "./kstatus",
  toxiproxy: "github.com/Shopify/toxiproxy/v2/cmd/server",
} as const;

export type TestToolName = keyof typeof PACKAGES;

const MODULE_DIR = join(import.meta.dirname, "tools", "testing");

/** The path of a program, built when it is not in the user's cache folder yet: seconds after the stack's own build. */
export async function ensureTestTool(name: TestToolName): Promise<string> {
  const hash = createHash("sha256").update(await readGoVersion());
  for (const file of ["go.mod", "go.sum", "kstatus/main.go"])
    hash.update(readFileSync(join(MODULE_DIR, file)));
  const dir = join(cacheRoot(), `test-tools-${hash.digest("hex").slice(0, 16)}`);
  mkdirSync(dir, { recursive: true });
  const file = join(dir, name);
  if (!existsSync(file)) await buildProgram(file, PACKAGES[name], MODULE_DIR, "-s -w");
  return file;
}
