import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readTable } from "../../shared/program/testing-tables.ts";

/** For each row of the page, the figure of the bench that has its limit: file, and name in the source. */
const FIGURES: Readonly<Record<string, readonly [file: string, figure: string]>> = {
  "operator, resident memory": ["operator/fleet.ts", "resident memory, peak"],
  "operator, start until idle": ["operator/fleet.ts", "idle"],
  "operator, takeover by a standby": [
    "operator/fleet.ts",
    "kill -9 of the leader until the first status of the standby",
  ],
  "operator, cost of a cluster in a larger fleet": [
    "operator/growth.ts",
    `\${name}: each of a larger fleet, more by`,
  ],
  "API server, resident memory": ["events.ts", "API server: resident memory, most"],
  "API server, event to client, p99": ["events.ts", "event to client: p99"],
  "webhooks, committed to received, p99": ["webhooks/latency.ts", "committed to received: p99"],
  "month's end, all invoices issued": ["billing/close.ts", "all invoices issued"],
  "either program when idle, resident memory": ["start.ts", `\${name}: resident memory when idle`],
};

/** The limit of a figure, a number or a constant of the same file, with its unit. */
function readLimit(file: string, figure: string): string {
  const text = readFileSync(join(import.meta.dirname, file), "utf8");
  const at = Math.max(text.indexOf(`"${figure}"`), text.indexOf(`\`${figure}\``));
  const [, unit = "", limit = ""] = /unit: "(.*?)",\s+limit: (\w+)/.exec(text.slice(at)) ?? [];
  const [, value = limit] = new RegExp(`const ${limit} = (\\d+);`).exec(text) ?? [];
  return at === -1 ? "no such figure" : `${value} ${unit}`;
}

test("docs/operators/sizing.md has the limits that the benches fail beyond", () => {
  const rows = readTable("docs/operators/sizing.md", "# Sizing");
  expect(rows.map(([what]) => what)).toEqual(Object.keys(FIGURES));
  const documented = rows.map(([what, , limit = ""]) => [what, /^\d+ (MB|ms|s|%)/.exec(limit)?.[0]]);
  const limits = Object.entries(FIGURES).map(([what, [file, figure]]) => [what, readLimit(file, figure)]);
  expect(documented).toEqual(limits);
});
