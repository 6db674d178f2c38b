import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DOCUMENT_FILE } from "./document.ts";
import { ensureOpenApiTools, TOOLS_SOURCE } from "./tools.ts";

const RULES = ["spectral.yaml", "redocly.yaml"].map((name) => join(TOOLS_SOURCE, name));

/** Holds the committed document to Spectral's and Redocly's rules. Resolves to whether nothing at all was found. */
async function lint(): Promise<boolean> {
  const modules = await ensureOpenApiTools();
  // Rules are found from where their file is, and exceptions name the document as it is called there.
  const folder = mkdtempSync(join(tmpdir(), "marina-openapi-"));
  try {
    symlinkSync(modules, join(folder, "node_modules"));
    for (const file of [DOCUMENT_FILE, ...RULES]) copyFileSync(file, join(folder, basename(file)));
    const passed = await Promise.all([
      runTool(
        folder,
        "spectral",
        ["lint", "--quiet", "--fail-severity=hint", "openapi.json"],
        "spectral.yaml",
      ),
      runTool(folder, "redocly", ["lint", "openapi.json"], "redocly.yaml"),
    ]);
    return passed.every(Boolean);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whether the tool found nothing; what it says is shown when it did. */
async function runTool(folder: string, name: string, args: string[], rules: string): Promise<boolean> {
  const flag = name === "spectral" ? "--ruleset" : "--config";
  const child = spawn(join(folder, "node_modules", ".bin", name), [...args, flag, rules], {
    cwd: folder,
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) process.stderr.write(`${name}:\n${said}\n`);
  return code === 0;
}

if (!(await lint())) process.exitCode = 1;
