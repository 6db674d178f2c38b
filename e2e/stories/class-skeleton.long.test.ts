import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { kubectl } from "../platform/stack/testing.ts";

const PAGE = join(import.meta.dirname, "..", "..", "docs", "operators", "cluster-class.md");
const NAMESPACE = "class-skeleton";
const [, SKELETON = ""] =
  /^## A class for another provider$.*?^```yaml$(.*?)^```$/ms.exec(readFileSync(PAGE, "utf8")) ?? [];

beforeAll(() => kubectl(["create", "namespace", NAMESPACE]));

/** What Cluster API's own admission says of the skeleton with this change; empty when it accepts it. */
async function findRefusal(change: (skeleton: string) => string = (same) => same): Promise<string> {
  const skeleton = parse(change(SKELETON));
  skeleton.metadata.namespace = NAMESPACE;
  return kubectl(["create", "--dry-run=server", "--filename=-"], { stdin: stringify(skeleton) }).then(
    () => "",
    ({ message }: Error) => message,
  );
}

test("the skeleton of a class is accepted by Cluster API, and declares every variable of the contract", async () => {
  expect(await findRefusal()).toBe("");
  const page = readFileSync(PAGE, "utf8");
  const [, contract = ""] = /^## What the class may declare$(.*?)^## /ms.exec(page) ?? [];
  // The table of capabilities comes after that of the variables.
  const [variables = ""] = contract.split(/^\| capability /m);
  const named = [...variables.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
  expect(parse(SKELETON).spec.variables.map(({ name }: { name: string }) => name)).toEqual(named);
});

test.each([
  ["a patch with a variable that is not declared", "variable: machine.vcpus", "variable: size.vcpus", /size/],
  ["a kind that is no template", "kind: ExampleClusterTemplate", "kind: ExampleCluster", /Template/],
])("a skeleton with %s is refused by Cluster API", async (_, from, to, expected) => {
  expect(await findRefusal((skeleton) => skeleton.replace(from, to))).toMatch(expected);
});

const EXAMPLES = join(import.meta.dirname, "..", "..", "examples", "add-ons");

test.each(globSync("*.yaml", { cwd: EXAMPLES }))("the add-on %s is accepted by Cluster API", async (file) => {
  const example = parse(readFileSync(join(EXAMPLES, file), "utf8"));
  expect(`${example.metadata.name}.yaml`).toBe(file);
  example.metadata.namespace = NAMESPACE;
  await kubectl(["create", "--dry-run=server", "--validate=strict", "--filename=-"], {
    stdin: stringify(example),
  });
});
