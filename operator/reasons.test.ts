import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clusterPhases } from "../shared/crd/cluster.ts";
import { CONDITION_REASONS } from "../shared/crd/conditions.ts";
import { nodePoolPhases, nodePoolTransitionTypes } from "../shared/crd/node-pool.ts";

const page = readFileSync(join(import.meta.dirname, "..", "docs", "operators", "conditions.md"), "utf8");
const sources = globSync("**/*.ts", { cwd: import.meta.dirname })
  .filter((path) => !/testing|\.test\.|\.bench\.|^bench/.test(path))
  .map((path) => readFileSync(join(import.meta.dirname, path), "utf8"));

/** The names in the first column of the table whose first heading this is. */
function namesIn(heading: string): string[] {
  const [, after = ""] = page.split(`\n| ${heading} `);
  const [table = ""] = after.split("\n\n");
  return [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name = ""]) => name).sort();
}

describe("docs/operators/conditions.md has every reason of conditions, and no other:", () => {
  test.each([
    ["healthy", "reason of what is well"],
    ["progressing", "reason of a change"],
    ["waiting", "reason of a wait"],
    ["degraded", "reason of what fails"],
    ["stalled", "reason of what a person solves"],
  ] as const)("%s", (state, heading) => {
    expect(namesIn(heading)).toEqual([...CONDITION_REASONS[state]].sort());
  });

  test("and the operator gives each of them", () => {
    const declared = readFileSync(join(import.meta.dirname, "..", "shared/crd/conditions.ts"), "utf8");
    const constants = [...declared.matchAll(/export const ([A-Z_]+) = "(\w+)"/g)];
    const words = new Map(constants.map(([, name = "", reason = ""]) => [reason, name]));
    const isGiven = (reason: string) =>
      sources.some(
        (text) => text.includes(`"${reason}"`) || text.includes(words.get(reason) ?? `"${reason}"`),
      );
    expect(
      Object.values(CONDITION_REASONS)
        .flat()
        .filter((reason) => !isGiven(reason)),
    ).toEqual([]);
  });
});

test("docs/operators/conditions.md has every reason of Events that is none of a condition", () => {
  const own = /reason: "(\w+)",\s*(?:note|action)\b|record\(\s*"(?:Normal|Warning)",\s*"(\w+)"/g;
  const given = sources.flatMap((text) => [...text.matchAll(own)].map(([, one, two]) => one ?? two ?? ""));
  const states = [...clusterPhases, ...nodePoolPhases, ...nodePoolTransitionTypes, "Recovered"];
  const ofConditions: readonly string[] = Object.values(CONDITION_REASONS).flat();
  const expected = new Set([...given, ...states].filter((reason) => !ofConditions.includes(reason)));
  expect(namesIn("reason of an Event")).toEqual([...expected].sort());
});

describe("docs/operators/conditions.md has every name of ours, and no other:", () => {
  const root = join(import.meta.dirname, "..");
  const read = (pattern: string, excluded: RegExp) =>
    globSync(pattern, { cwd: root })
      .filter((path) => !excluded.test(path))
      .map((path) => readFileSync(join(root, path), "utf8"));
  const code = read("{apiserver,operator,shared}/**/*.ts", /testing|\.test\.|\/bench\//);
  const charts = read("charts/*/{values.yaml,templates/**/*.{yaml,tpl}}", /\/files\//);
  const findIn = (texts: string[], name: RegExp) =>
    texts.flatMap((text) => [...text.matchAll(name)].map(([, found = ""]) => found));
  const inTable = (heading: string) => {
    const [, after = ""] = page.split(new RegExp(`\\n\\| ${heading} `));
    const [table = ""] = after.split("\n\n");
    return [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = ""]) => name).sort();
  };
  const declared = (kind: string) => findIn(code, new RegExp(`\\b${kind}_\\w+ = "([^"]+)"`, "g"));
  const labels = [
    ...declared("LABEL"),
    ...findIn(charts, /^ +matchLabels:\n +(cloud\.marina\.dev\/[a-z-]+):/gm),
  ];
  const annotations = declared("ANNOTATION").map((name) => (name.endsWith("/") ? `${name}<node>` : name));

  test.each([
    ["label", labels],
    ["annotation", annotations],
  ])("%s", (heading, names) => {
    const ours = new Set(names.filter((name) => name.includes("cloud.marina.dev")));
    expect(ours.size).toBeGreaterThan(10);
    expect(inTable(heading)).toEqual([...ours].sort());
  });

  test("and nothing else is written on objects", () => {
    const written = [
      ...findIn(code, /["`]((?:\w+\.)?cloud\.marina\.dev\/[a-z][a-z-]*)["`]/g),
      ...findIn(charts, /^ +(cloud\.marina\.dev\/[a-z-]+):/gm),
    ];
    // The version of the API, the finalizer, and the taint of a pool that is never made.
    const others = ["cloud.marina.dev/operator", "cloud.marina.dev/probe"];
    const known = new Set([...inTable("label"), ...inTable("annotation"), ...others]);
    expect(written.filter((name) => !known.has(name))).toEqual([]);
  });
});
