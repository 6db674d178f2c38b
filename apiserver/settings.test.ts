import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { describeVariables, readTable } from "../shared/program/testing-tables.ts";
import { configSchema } from "./config.ts";

const PAGE = "docs/operators/settings.md";
const ROOT = join(import.meta.dirname, "..");
const CHART = join(ROOT, "charts", "marina");
const VALUES = parse(readFileSync(join(CHART, "values.yaml"), "utf8"));
const TEMPLATES = globSync("templates/**/*.{yaml,tpl}", { cwd: CHART })
  .map((file) => readFileSync(join(CHART, file), "utf8"))
  .join("\n");

/** Rows of the table: variable, default, bounds, value of the chart, meaning. */
const rows = readTable(PAGE, "## API server");
const described = describeVariables(configSchema);

test("the table of the API server has every variable once, and no other", () => {
  expect(rows.map(([variable]) => variable)).toEqual(described.map(({ variable }) => variable));
});

test.each(described)(
  "$variable has the default and the bounds of the program",
  ({ variable, usual, bounds }) => {
    const [row = []] = rows.filter(([name]) => name === variable);
    expect({ usual: row[1], bounds: row[2] }).toEqual({ usual: usual ?? row[1], bounds });
    expect(row[1]).not.toBe("");
    expect(row[4]).not.toBe("");
  },
);

test("the table of the migration has every variable that it reads, and no other", () => {
  const source = readFileSync(join(import.meta.dirname, "db", "migrate.ts"), "utf8");
  const read = new Set(source.match(/\bMARINA_[A-Z_]+\b/g));
  const table = readTable(PAGE, "## Migration");
  expect(table.map(([variable = ""]) => variable.replaceAll("`", ""))).toEqual([...read]);
});

describe.each([
  ["the API server", "## API server"],
  ["the operator", "## Operator"],
  ["the migration", "## Migration"],
])("values of the chart for %s", (_program, heading) => {
  const settings = readTable(PAGE, heading).map(([variable = "", , , values = ""]) => ({
    variable: variable.replaceAll("`", ""),
    values,
  }));

  test.each(settings)("$variable is set by the chart where the table says so", ({ variable, values }) => {
    const isLeftToExtraEnv = /^`(apiserver|operator)\.extraEnv`$/.test(values);
    expect(TEMPLATES.includes(`- name: ${variable}\n`)).toBe(!isLeftToExtraEnv);
    for (const [, path = ""] of values.matchAll(/`([^`]+)`/g)) expect(findValue(path)).toBeDefined();
  });
});

test("the table of Secrets has the keys of the chart, and every Secret that a value names", () => {
  const rows = readTable(PAGE, "## Secrets").map(([value = "", key = ""]) => ({
    value: value.replaceAll("`", ""),
    key: key.replaceAll("`", ""),
  }));
  const keys = rows.map(({ value, key }) => {
    const group = findValue(value.replace(/\.existingSecret$/, ""));
    const ofGroup = Object.entries(group as object).filter(([name]) => name.endsWith("Key"));
    return ofGroup.some(([, used]) => used === key);
  });
  expect(keys).toEqual(rows.map(() => true));
  const text = readFileSync(join(CHART, "values.yaml"), "utf8");
  const named = new Set(rows.map(({ value }) => value));
  expect(named.size).toBe([...text.matchAll(/^ +existingSecret:/gm)].length);
});

test("the commands that make Secrets of the platform give each the keys of its rows, and every row has a command", () => {
  const keysOf = (command: string) =>
    [...command.matchAll(/--from-(?:literal|file)=(\w+)/g)].map(([, key = ""]) => key);
  const pages = globSync("docs/operators/*.md", { cwd: ROOT }).map((page) =>
    readFileSync(join(ROOT, page), "utf8"),
  );
  const commands = pages.flatMap((page) =>
    [...page.matchAll(/^kubectl (?:.*[^\\]\n|(?:.*\\\n)+.*\n)/gm)]
      .map(([command]) => command)
      .filter((command) => /create secret generic/.test(command) && command.includes("marina-system"))
      // Postgres's operator reads it, no program of Marina.
      .filter((command) => !command.includes("--type=kubernetes.io/basic-auth")),
  );
  const made = commands.map((command) => keysOf(command).toSorted().join());
  const rows = Map.groupBy(readTable(PAGE, "## Secrets"), ([value = ""]) => value);
  const expected = [...rows.values()].map((group) =>
    group
      .map(([, key = ""]) => key.replaceAll("`", ""))
      .toSorted()
      .join(),
  );
  expect(made.toSorted()).toEqual(expected.toSorted());
});

function findValue(path: string): unknown {
  return path
    .split(".")
    .reduce((value, key) => (value as Record<string, unknown> | undefined)?.[key], VALUES);
}
