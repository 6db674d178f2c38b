import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { z } from "zod";
import { describeVariables, readTable, replaceTable } from "../shared/program/testing-tables.ts";
import { configSchema } from "./config.ts";
import { hasPermission, PERMISSIONS, ROLES, scopeOf } from "./http/authorization/permissions.ts";
import { DETAIL_CODES, ERROR_CODES, statusOf } from "./http/errors.ts";
import { DEFAULT_RATE_LIMITS, RATE_CLASSES } from "./http/limits.ts";
import { DETAIL_MEANINGS, REMEDIES } from "./http/openapi/components.ts";
import { declareOperations, renderOpenApi } from "./openapi/render.ts";
import { DEFAULT_QUOTAS } from "./quotas/config.ts";
import { presentLimits } from "./quotas/present.ts";
import { STORE_NAMES } from "./quotas/schema.ts";
import { RECORD_BOUNDS, ROUTE_BOUNDS } from "./testing/request-bounds.ts";
import { EVENT_CATALOG, webhookTest } from "./webhooks/event-schema.ts";

const code = (text: string) => `\`${text}\``;
/** Rows of a table without the last column, which is words; every row has some. */
function readFacts(page: string, heading: string): string[][] {
  const rows = readTable(page, heading);
  expect(rows.filter((row) => row.at(-1) === "")).toEqual([]);
  return rows.map((row) => row.slice(0, -1));
}

/** The row with the text of each link in its place. */
function withoutLinks(row: readonly string[]): string[] {
  return row.map((cell) => cell.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
}

/** Compares a table without a column of words with the page; `vitest run --project unit <this file> -u` writes it. */
async function expectTable(page: string, heading: string, rows: string[][]): Promise<void> {
  await expect(replaceTable(page, heading, rows)).toMatchFileSnapshot(`../${page}`);
}

test("docs/tenants/access.md has every permission, who holds it, and the scope that grants it", async () => {
  const expected = PERMISSIONS.map((permission) => {
    const scope = scopeOf(permission);
    const held = ROLES.map((role) => (hasPermission(role, permission) ? "yes" : ""));
    return [code(permission), ...held, scope === undefined ? "none" : code(scope)];
  });
  await expectTable("docs/tenants/access.md", "## Roles and scopes", expected);
});

test("docs/tenants/errors.md has every code with its status, and what the reference says to do", () => {
  const expected = ERROR_CODES.map((name) => [code(name), String(statusOf(name)), REMEDIES[name]]);
  expect(readTable("docs/tenants/errors.md", "## Codes").map(withoutLinks)).toEqual(expected);
});

test("docs/tenants/errors.md has every code of a field with the meaning in the reference", () => {
  const expected = DETAIL_CODES.map((name) => [code(name), DETAIL_MEANINGS[name]]);
  expect(readTable("docs/tenants/errors.md", "## Codes of fields")).toEqual(expected);
});

test("docs/tenants/limits.md has every rate with its default", () => {
  const expected = RATE_CLASSES.map((name) => {
    const { burst, perMinute } = DEFAULT_RATE_LIMITS[name];
    return [code(name), String(burst), String(perMinute)];
  });
  expect(readFacts("docs/tenants/limits.md", "## Rates of requests")).toEqual(expected);
});

test("docs/tenants/limits.md has every quota with its default", () => {
  const expected = Object.entries(presentLimits(DEFAULT_QUOTAS)).map(([name, limit]) => [
    code(name),
    String(limit),
  ]);
  expect(readFacts("docs/tenants/limits.md", "## Quotas")).toEqual(expected);
});

test("docs/tenants/limits.md has every store with its default", () => {
  const limits = Object.assign(
    {},
    ...Object.values({ ...RECORD_BOUNDS, ...ROUTE_BOUNDS }).map(({ ofOrganization }) => ofOrganization),
  );
  const expected = STORE_NAMES.map((name) => [code(name), String(limits[name])]);
  expect(readFacts("docs/tenants/limits.md", "## Stores")).toEqual(expected);
});

test("docs/tenants/limits.md has the default of every number of things that a setting bounds", () => {
  const rows = readTable("docs/tenants/limits.md", "## Numbers");
  const defaults = new Map(describeVariables(configSchema).map(({ variable, usual }) => [variable, usual]));
  const counted = [...defaults.keys()].filter((name) => /_PER_(USER|ORGANIZATION|PRINCIPAL)`$/.test(name));
  expect(rows.map(([setting]) => setting)).toEqual(counted);
  for (const [setting = "", number] of rows) expect(`\`${number}\``).toBe(defaults.get(setting));
});

interface Schema extends Bounds {
  description?: string;
  properties?: Record<string, Schema>;
}

interface OpenApi {
  paths: Record<string, Record<string, { requestBody?: unknown }>>;
  components: { schemas: Record<string, Schema> };
}

/** The fields of a schema that a client sets: what is only sent back has no bound that anybody meets. */
function listWrittenFields({ properties = {} }: Schema): [name: string, field: Schema][] {
  return Object.entries(properties).filter(
    ([, { description = "" }]) => !/^(Immutable|Read-only):/.test(description),
  );
}

function listReferences(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) =>
    key === "$ref" ? [String(part).split("/").at(-1) ?? ""] : listReferences(part),
  );
}

/** The schemas of all bodies that tenants send, in the order of the document, each before those that it refers to. */
function listBodySchemas({ paths, components: { schemas } }: OpenApi): string[] {
  const names = new Set<string>();
  const add = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    for (const [, field] of listWrittenFields(schemas[name] ?? {})) listReferences(field).forEach(add);
  };
  for (const [path, operations] of Object.entries(paths)) {
    if (path.startsWith("/api/v1/admin/")) continue;
    for (const { requestBody } of Object.values(operations)) listReferences(requestBody).forEach(add);
  }
  return [...names];
}

test("docs/tenants/limits.md has the bounds of every field of every body; of a change, those that its creation has not", async () => {
  const document: OpenApi = JSON.parse(renderOpenApi());
  const { schemas } = document.components;
  const expected = listBodySchemas(document).flatMap((name) => {
    const creation = schemas[`Create${name.replace(/^Update/, "")}`]?.properties ?? {};
    return listWrittenFields(schemas[name] ?? {}).flatMap(([field, bounds]) => {
      const text = describeFieldBounds(bounds);
      const created = creation[field];
      const isRepeated = created !== undefined && describeFieldBounds(created) === text;
      return text === "" || isRepeated ? [] : [[code(name), code(field), text]];
    });
  });
  await expectTable("docs/tenants/limits.md", "## Fields", expected);
});

test("docs/tenants/webhooks.md has every type of event with the fields of its data", () => {
  const expected = [...Object.values(EVENT_CATALOG), webhookTest].map(({ type, description, data }) => {
    const fields = Object.entries<z.ZodType>(data.shape).map(([name, schema]) =>
      schema.isOptional() ? `${code(name)} (not always)` : code(name),
    );
    return [code(type), description, fields.join(", ")];
  });
  expect(readTable("docs/tenants/webhooks.md", "## Types")).toEqual(expected);
});

const ROOT = join(import.meta.dirname, "..");
const withoutNames = (path: string) => path.replaceAll(/\{.+?\}/g, "*");

const OPERATIONS = declareOperations().map(({ method, path }) => `${method} ${withoutNames(path)}`);

test.each(["README.md", ...globSync("docs/**/*.md", { cwd: ROOT })])(
  "every operation that %s names is one of the API",
  (page) => {
    const isKnown = (method: string, path: string) =>
      path.startsWith("/registry/token") ||
      `${method.toUpperCase()} ${path}` in ROUTE_BOUNDS ||
      OPERATIONS.some((known) =>
        path.startsWith("~")
          ? known.startsWith(method) && known.endsWith(path.slice(1))
          : known === `${method} ${path}`,
      );
    const words = readFileSync(join(ROOT, page), "utf8").replaceAll(/\n```[\s\S]*?\n```/g, "");
    const named = words.matchAll(
      /\b(GET|POST|PUT|DELETE) ((?:\/api\/v1|\.\.\.|…|\{org(?:anization)?\})?\/[^\s`)?]*)/g,
    );
    const unknown = [...named].filter(([, method = "", path = ""]) => {
      const whole = path
        .replace(/^(\.\.\.|…)/, "~")
        .replace(/^\{org(anization)?\}/, "/api/v1/organizations/*");
      return !isKnown(method.toLowerCase(), withoutNames(whole));
    });
    expect(unknown.map(([text]) => text)).toEqual([]);
  },
);

interface Bounds {
  enum?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
}

/** Empty for a field without bounds, or whose values or form say it all. */
function describeFieldBounds(field: Bounds): string {
  if (field.enum !== undefined || field.format === "uuid") return "";
  const { minimum, maximum, minLength = 0, maxLength, minItems = 0, maxItems, maxProperties } = field;
  if (maximum === 2 ** 31 - 1) return `from ${minimum}`;
  if (minimum === Number.MIN_VALUE) return "more than 0";
  if (maximum !== undefined) return `${minimum} to ${maximum.toLocaleString("en")}`;
  if (maxLength !== undefined) return describeRange(minLength, maxLength, "characters");
  const entries = maxItems ?? maxProperties;
  return entries === undefined ? "" : describeRange(minItems, entries, "entries");
}

function describeRange(least: number, most: number, noun: string): string {
  const amount = most.toLocaleString("en");
  if (least === most) return `${amount} ${noun}`;
  return least === 0 ? `at most ${amount} ${noun}` : `${least} to ${amount} ${noun}`;
}
