import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clusterPhases } from "../shared/crd/cluster.ts";
import { CONDITION_REASONS } from "../shared/crd/conditions.ts";
import { nodePoolPhases, nodePoolTransitionTypes } from "../shared/crd/node-pool.ts";
import { readTable } from "../shared/program/testing-tables.ts";
import { SHOWN_REASONS } from "./capi/events.ts";

const page = readFileSync(join(import.meta.dirname, "..", "docs", "operators", "conditions.md"), "utf8");
const sources = [...globSync("**/*.ts", { cwd: import.meta.dirname }), "../shared/controller/conditions.ts"]
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

test("docs/operators/conditions.md says what to do about each wait and each failure, and has no empty cell", () => {
  const tables = page.split("\n\n").filter((part) => part.startsWith("|"));
  const rows = tables.flatMap((table) => table.split("\n").map((line) => line.split("|").slice(1, -1)));
  expect(rows.filter((row) => row.some((cell) => cell.trim() === ""))).toEqual([]);
  for (const heading of ["reason of a wait", "reason of what fails"])
    expect(page).toMatch(new RegExp(`\\n\\| ${heading} .*\\| what to do +\\|\\n`));
});

test("docs/operators/conditions.md has every reason of an access that is none of a cluster or node pool", () => {
  const texts = globSync("cluster-access/{reconcile,status}.ts", { cwd: import.meta.dirname }).map((path) =>
    readFileSync(join(import.meta.dirname, path), "utf8"),
  );
  const given = texts.flatMap((text) =>
    [...text.matchAll(/reason: "(\w+)"(?!, note)/g)].map(([, reason = ""]) => reason),
  );
  const known: readonly string[] = Object.values(CONDITION_REASONS).flat();
  expect(namesIn("reason of an access")).toEqual(
    [...new Set(given.filter((reason) => !known.includes(reason)))].sort(),
  );
});

/** What the first column of a table on `Registered` names: each reason with the status that it comes with. */
function listRegistered(page: string, heading: string): string[] {
  return readTable(`docs/operators/${page}`, heading).flatMap(([said = ""]) => {
    const [, status, reason] = /^(\w+), `(\w+)`/.exec(said) ?? [];
    return reason === undefined ? [] : [`${status} ${reason}`];
  });
}

test("docs/operators/flux.md and cluster-profile.md have every reason of Registered but that of success, with its status", () => {
  const readSource = (path: string) => readFileSync(join(import.meta.dirname, path), "utf8");
  const [, decide = ""] = readSource("cluster/tenant-conditions.ts").split(
    "export function decideRegistered",
  );
  const texts = [
    readSource("registration/reconcile.ts"),
    readSource("registration/failure.ts"),
    decide.split("\n}\n")[0] ?? "",
  ];
  const given = texts.flatMap((text) => [
    ...[...text.matchAll(/status: "(\w+)"(?: as const)?,\s+reason: "(\w+)"/g)].map((match) => match.slice(1)),
    ...[...text.matchAll(/status: "(\w+)", reason: `\$\{kind\}(\w+)`/g)].flatMap(([, status, end]) => [
      [status, `Secret${end}`],
      [status, `ClusterProfile${end}`],
    ]),
    ...[...text.matchAll(/status: "(\w+)", reason: `\$\{clusterProfileKind\.kind\}(\w+)`/g)].map(
      ([, status, end]) => [status, `ClusterProfile${end}`],
    ),
    // From findProblem(), whose result is False, and from waiting(), whose result is Unknown.
    ...[...text.matchAll(/return \{ reason: "(\w+)"/g)].map(([, reason]) => ["False", reason]),
    ...[...text.matchAll(/waiting\("(\w+)"/g)].map(([, reason]) => ["Unknown", reason]),
  ]);
  const expected = given.filter(([status]) => status !== "True").map((words) => words.join(" "));
  const said = [
    ...listRegistered("flux.md", "## Into the clusters: a kubeconfig for the pipeline"),
    ...listRegistered("cluster-profile.md", "## What can go wrong"),
  ];
  const isOfAccess = (words: string) =>
    [...namesIn("reason of an access"), ...CONDITION_REASONS.waiting].includes(words.split(" ")[1] ?? "");
  const own = said.filter((words) => expected.includes(words) || !isOfAccess(words));
  expect(own.toSorted()).toEqual([...new Set(expected)].toSorted());
});

test("docs/operators/conditions.md has every reason of Events that is none of a condition", () => {
  const own = /reason: "(\w+)",\s*(?:note|action)\b|record\(\s*"(?:Normal|Warning)",\s*"(\w+)"/g;
  const given = sources.flatMap((text) => [...text.matchAll(own)].map(([, one, two]) => one ?? two ?? ""));
  const states = [...clusterPhases, ...nodePoolPhases, ...nodePoolTransitionTypes, "Recovered"];
  const ofConditions: readonly string[] = Object.values(CONDITION_REASONS).flat();
  const expected = new Set([...given, ...states].filter((reason) => !ofConditions.includes(reason)));
  expect(namesIn("reason of an Event")).toEqual([...expected].sort());
});

test("docs/operators/conditions.md has every reason of Cluster API's normal Events that tenants are shown", () => {
  const shown = Object.values(SHOWN_REASONS).flatMap((reasons) => Object.keys(reasons));
  expect(namesIn("reason of Cluster API")).toEqual(shown.sort());
});
