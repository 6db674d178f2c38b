import { expect, test } from "vitest";
import { aPool, hashOfPool, makeMachine } from "./testing.ts";

test("a machine whose MachineSet is not seen yet is neither up to date nor listed as outdated", () => {
  const machines = [{ ...makeMachine("a"), outdated: undefined }, makeMachine("b")];
  const pool = aPool().withNodes(2).with({ machines });
  expect(pool.condition("UpToDate")).toMatchObject({ status: "False" });
  expect(pool.plan().status?.machines?.map(({ outdated }) => outdated)).toEqual([undefined, undefined]);
});

test("a machine of another template is listed as outdated, and no other one", () => {
  const machines = [makeMachine("a", {}, { isOfOtherTemplate: true }), makeMachine("b")];
  const listed = aPool().withNodes(2).with({ machines }).plan().status?.machines;
  expect(listed?.map(({ outdated }) => outdated)).toEqual([true, undefined]);
});

test("new settings that come with another count are not called done while it scales, nor after it before they are there", () => {
  const machines = [makeMachine("a"), makeMachine("b")];
  const ready = aPool().withNodes(2).with({ machines }).reconciled();
  const changed = ready.withSpec({ desiredNodes: 3, nodeLabels: { tier: "web" } });
  const scaling = changed.withCapi({ desired: 2, applied: hashOfPool() });
  expect(scaling.condition("Scaling")).toMatchObject({ status: "True" });
  expect(scaling.condition("UpToDate")).toMatchObject({ status: "False", reason: "Updating" });
  const applied = hashOfPool({ nodeLabels: { tier: "web" } });
  const scaled = scaling
    .reconciled()
    .withCapi({ desired: 3, applied })
    .with({ machines: [...machines, makeMachine("c", {}, { applied })] });
  expect(scaled.condition("UpToDate")).toMatchObject({ status: "False", reason: "Updating" });
});

test("new settings that every node has are not counted as such while Cluster API has not acted on them", () => {
  const changed = aPool()
    .withNodes(2)
    .reconciled()
    .withSpec({ nodeLabels: { tier: "web" } });
  const applied = hashOfPool({ nodeLabels: { tier: "web" } });
  const machines = ["a", "b"].map((name) => makeMachine(name, {}, { applied }));
  const pool = changed.withCapi({ desired: 2, applied, isGenerationObserved: false }).with({ machines });
  expect(pool.condition("UpToDate")).toMatchObject({
    status: "False",
    message: "The new settings are being applied.",
  });
});

const none = { desired: 2, ready: 0, applied: hashOfPool() };
const starting = aPool().withCapi(none);
const unjoined = [false, true].map((deleting) => ({ ...makeMachine("a"), node: undefined, deleting }));
const rolledNone = { ...none, rollingOut: true };
const changed = aPool().withNodes(2).reconciled().withSpec({ vcpus: 4 });
const rolling = changed.withCapi({ ...rolledNone, ready: 2 });
const problem = { reason: "QuotaExceeded", message: "Too many. Ask for more." };

test.each([
  { what: "Cluster API has not created it", pool: aPool(), status: "Unknown" },
  { what: "it has no machine", pool: aPool().withCapi({ desired: 2, nodes: 0 }), status: "Unknown" },
  { what: "no machine has joined", pool: starting.with({ machines: unjoined }), status: "Unknown" },
  { what: "none that gets new settings is there", pool: changed.withCapi(none), status: "Unknown" },
  { what: "none that is replaced is there", pool: aPool().withCapi(rolledNone), status: "Unknown" },
  { what: "its nodes have joined", pool: aPool().withNodes(2), status: "True" },
  { what: "one has joined", pool: starting.with({ machines: [makeMachine("a")] }), status: "True" },
  { what: "it is to have no nodes", pool: aPool({ desiredNodes: 0 }).withNodes(0), status: "True" },
])("whether its nodes are up to date is $status while $what", ({ pool, status }) => {
  expect(pool.condition("UpToDate")?.status).toBe(status);
  if (status === "True") return;
  expect(pool.condition("Reconciling")?.status).toBe("True");
  expect(pool.plan().status?.phase).not.toBe("Ready");
});

test.each([
  ["settings", "UpToDate", "The newer settings of the pool follow.", rolling],
  ["settings that are held", "UpToDate", problem.message, rolling.withCluster({ problem })],
  ["settings that are held", "Stalled", problem.message, rolling.withCluster({ problem })],
  ["size", "Scaling", "Scaling to 4 nodes", rolling.withSpec({ desiredNodes: 4 })],
])("while nodes are being replaced, new %s are named in %s", (_what, type, text, pool) => {
  expect(pool.condition(type)?.message).toContain(text);
  expect(pool.condition("UpToDate")).toMatchObject({ status: "False", reason: "RollingOut" });
});
