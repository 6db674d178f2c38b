import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeDocument } from "./document.ts";
import { ensureOpenApiTools, TOOLS_SOURCE } from "./tools.ts";

const LINTERS = {
  spectral: ["lint", "--quiet", "--fail-severity=hint", "openapi.json", "--ruleset", "spectral.yaml"],
  redocly: ["lint", "openapi.json", "--config", "redocly.yaml"],
} as const;

export type LinterName = keyof typeof LINTERS;

/** What a linter reports of an OpenAPI document, by our rules; empty when it finds nothing. */
export async function lint(name: LinterName, documentFile: string): Promise<string> {
  const modules = await ensureOpenApiTools();
  // Rules are resolved from the folder of their file, and exceptions name the document by its name there.
  const folder = mkdtempSync(join(tmpdir(), "marina-openapi-"));
  try {
    symlinkSync(modules, join(folder, "node_modules"));
    copyFileSync(documentFile, join(folder, "openapi.json"));
    for (const rules of ["spectral.yaml", "redocly.yaml"])
      copyFileSync(join(TOOLS_SOURCE, rules), join(folder, rules));
    return await run(folder, name);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(folder: string, name: LinterName): Promise<string> {
  const child = spawn(join(folder, "node_modules", ".bin", name), LINTERS[name], {
    cwd: folder,
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0 ? "" : `${name}:\n${output}`;
}

if (import.meta.main) {
  const file = writeDocument();
  const reports = await Promise.all((["spectral", "redocly"] as const).map((name) => lint(name, file)));
  if (reports.some((report) => report !== "")) {
    process.stderr.write(`${reports.join("\n")}\n`);
    process.exitCode = 1;
  }
}
