import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const ROOT = join(import.meta.dirname, "..", "..");

/** The rows of the first table below a heading of a page, without its header; cells without spaces around them. */
export function readTable(page: string, heading: string): string[][] {
  const { lines, start, end } = findTable(page, heading);
  return lines.slice(start + 2, end).map(readCells);
}

/** The text of a page with these rows, and the header that it has, in the first table below a heading. */
export function replaceTable(page: string, heading: string, rows: readonly (readonly string[])[]): string {
  const { lines, start, end } = findTable(page, heading);
  const table = renderTable(readCells(lines[start] ?? ""), rows).trimEnd();
  return lines.toSpliced(start, end - start, table).join("\n");
}

/** A table in Markdown whose columns are as wide as their longest cell. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |\n`;
  const rule = widths.map((width) => "-".repeat(width));
  return line(header) + line(rule) + rows.map(line).join("");
}

function findTable(page: string, heading: string): { lines: string[]; start: number; end: number } {
  const lines = readFileSync(join(ROOT, page), "utf8").split("\n");
  const start = lines.findIndex((line, index) => index > lines.indexOf(heading) && line.startsWith("|"));
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"));
  return { lines, start, end: end === -1 ? lines.length : end };
}

function readCells(line: string): string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/**
 * What the table of settings says of each variable of a schema: name, default and bounds, in the order of the schema.
 */
export function describeVariables(
  schema: z.ZodType,
): { variable: string; usual: string | undefined; bounds: string }[] {
  const { properties, required } = listProperties(
    z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema,
  );
  return Object.entries(properties).map(([name, property]) => ({
    variable: `\`${name}\``,
    usual: describeDefault(property.default, required.has(name)),
    bounds: describeBounds(property),
  }));
}

interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  allOf?: JsonSchema[];
  default?: string | number | boolean;
  minimum?: number;
  maximum?: number;
}

function listProperties(schema: JsonSchema): {
  properties: Record<string, JsonSchema>;
  required: Set<string>;
} {
  const parts = (schema.allOf ?? []).map(listProperties);
  return {
    properties: Object.assign({}, schema.properties, ...parts.map((part) => part.properties)),
    required: new Set([...(schema.required ?? []), ...parts.flatMap((part) => [...part.required])]),
  };
}

/** Undefined: the schema does not tell, as of a variable that may be absent, or whose default is no text. */
function describeDefault(usual: JsonSchema["default"], isRequired: boolean): string | undefined {
  if (usual === "") return "empty";
  if (usual !== undefined) return `\`${usual}\``;
  return isRequired ? "required" : undefined;
}

function describeBounds({ minimum, maximum }: JsonSchema): string {
  if (minimum === undefined) return "";
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  return isBounded ? `${minimum} to ${maximum}` : `from ${minimum}`;
}
