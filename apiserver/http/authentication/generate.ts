import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { issuerInput } from "./issuer-config.ts";

/** Writes what is made of the schema of an issuer; with `--check` only says what is outdated. */

const ROOT = join(import.meta.dirname, "..", "..", "..");
const VALUES_SCHEMA = join("charts", "marina", "values.schema.json");
const PAGE = join("docs", "operators", "identity", "README.md");
const [BEGIN, END] = ["<!-- settings -->", "<!-- end of settings -->"];

interface JsonSchema {
  type?: string;
  description?: string;
  default?: unknown;
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  anyOf?: readonly JsonSchema[];
}

/** The JSON schema of what an installer writes for one issuer. */
function describeIssuer(): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(issuerInput, { io: "input", target: "draft-7" });
  return schema as JsonSchema;
}

function renderValuesSchema(text: string): string {
  const schema = JSON.parse(text);
  schema.properties.oidc.properties.issuers.items = describeIssuer();
  return format(VALUES_SCHEMA, JSON.stringify(schema, undefined, 2));
}

function renderPage(text: string): string {
  const { properties = {}, required = [] } = describeIssuer();
  const rows = Object.entries(properties).map(([name, { description = "", ...schema }]) => {
    const preset = schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``;
    return `| \`${name}\` | ${typeOf(schema)} | ${required.includes(name) ? "required" : preset} | ${description} |`;
  });
  const table = ["| Setting | Type | Default | Meaning |", "|---|---|---|---|", ...rows].join("\n");
  const [before = ""] = text.split(BEGIN, 1);
  const after = text.slice(text.indexOf(END));
  return format(PAGE, `${before}${BEGIN}\n\n${table}\n\n${after}`);
}

function typeOf({ type, anyOf }: JsonSchema): string {
  return type === "array" ? "list" : (type ?? (anyOf ?? []).map(typeOf).join(" or "));
}

/** As the formatter of this repository writes the file. */
function format(file: string, text: string): string {
  const biome = join(ROOT, "node_modules", ".bin", "biome");
  const { status, stdout, stderr } = spawnSync(biome, ["format", `--stdin-file-path=${file}`], {
    cwd: ROOT,
    input: text,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

for (const [file, render] of [
  [VALUES_SCHEMA, renderValuesSchema],
  [PAGE, renderPage],
] as const) {
  const path = join(ROOT, file);
  const text = readFileSync(path, "utf8");
  const rendered = render(text);
  if (rendered === text) continue;
  if (process.argv.includes("--check")) {
    process.stderr.write(`Stale: ${file}. Run \`npm run generate\`.\n`);
    process.exitCode = 1;
  } else writeFileSync(path, rendered);
}
