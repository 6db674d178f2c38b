import { expect, test } from "vitest";
import { type Outcome, planSteps } from "./plan.ts";
import { composeTestSettings } from "./testing.ts";

const settings = composeTestSettings("/run");
const steps = planSteps(settings);
const step = (name: string) => steps.find((one) => one.name === name);

test("the steps are in the order in which each has what it needs, and each says why it is there", () => {
  expect(steps.map(({ name }) => name)).toEqual([
    "kind cluster",
    "image",
    "Cluster API",
    "Postgres and identity provider",
    "chart marina-classes",
    "chart marina",
  ]);
  for (const { why } of steps) expect(why.length).toBeGreaterThan(30);
});

test("no command of kubectl, helm or clusterctl works on another cluster than that of the run directory", () => {
  const commands = steps.flatMap(({ check, commands }) => [check.command, ...commands]);
  const clients = commands.filter(({ program }) => ["kubectl", "helm", "clusterctl"].includes(program));
  expect(clients.length).toBeGreaterThan(8);
  expect(clients.filter(({ environment }) => environment?.KUBECONFIG !== "/run/kubeconfig")).toEqual([]);
});

const providers = (version: string, ...names: string[]) => ({
  code: 0,
  stdout: JSON.stringify({ items: names.map((providerName) => ({ providerName, version })) }),
});
const ALL = ["cluster-api", "kubeadm", "kubeadm", "docker"];
const release = (status: string, description: string, config: object) => ({
  code: 0,
  stdout: JSON.stringify({ info: { status, description }, config }),
});
const CLASSES = { docker: { name: "marina-docker-v1", enabled: true } };

test.each<[string, string, Outcome, boolean]>([
  ["kind cluster", "no such context", { code: 1, stdout: "" }, false],
  ["kind cluster", "a server that is ready", { code: 0, stdout: "ok" }, true],
  ["image", "no such image", { code: 1, stdout: "" }, false],
  ["image", "the image", { code: 0, stdout: "{}" }, true],
  ["Cluster API", "no definition of providers", { code: 1, stdout: "" }, false],
  ["Cluster API", "all providers", providers("v1.14.0", ...ALL), true],
  ["Cluster API", "one provider less", providers("v1.14.0", ...ALL.slice(1)), false],
  ["Cluster API", "another version", providers("v1.13.0", ...ALL), false],
  ["Postgres and identity provider", "a difference", { code: 1, stdout: "diff" }, false],
  ["Postgres and identity provider", "no difference", { code: 0, stdout: "" }, true],
  ["chart marina-classes", "no release", { code: 1, stdout: "" }, false],
  ["chart marina-classes", "the release", release("deployed", "chart classes-digest", CLASSES), true],
  ["chart marina-classes", "a failed release", release("failed", "chart classes-digest", CLASSES), false],
  ["chart marina-classes", "other values", release("deployed", "chart classes-digest", {}), false],
  ["chart marina-classes", "an older chart", release("deployed", "chart other", CLASSES), false],
])("the step %s with %s", (name, _, outcome, isDone) => {
  expect(step(name)?.check.isDone(outcome)).toBe(isDone);
});
