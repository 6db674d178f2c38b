import { describe, expect, test } from "vitest";
import type { NodePoolStatus } from "../../shared/crd/node-pool.ts";
import type { MachineState } from "../capi/pool-state.ts";
import { composePoolEvents } from "./events.ts";
import type { ObservedPool } from "./observe.ts";
import { reconcilePool } from "./reconcile.ts";
import { aPool, hashOfPool } from "./testing.ts";

const NOW = new Date("2026-03-01T12:00:00Z");

function machine(name: string, rest: Partial<MachineState> = {}): MachineState {
  return {
    name,
    uid: `uid-${name}`,
    size: undefined,
    node: `node-${name}`,
    provisioned: true,
    phase: "Running",
    ready: true,
    version: "1.34.2",
    appliedHash: hashOfPool(),
    outdated: false,
    createdAt: "2026-03-01T11:00:00Z",
    deleting: false,
    remediation: undefined,
    waitsFor: undefined,
    deletion: undefined,
    unhealthy: undefined,
    ...rest,
  };
}

const marked = { remediation: "UnhealthyNode" };
const young = { createdAt: "2026-03-01T11:59:59Z" };
const joining = { ...young, node: undefined };

/** Reconciles a pool of two nodes with each of these observations; each reconcile reads the status of the last. */
function reconcileWith(...observations: (readonly MachineState[] | Partial<ObservedPool>)[]) {
  let status: NodePoolStatus | undefined;
  let steps: string[] = [];
  for (const observation of observations) {
    const change = Array.isArray(observation)
      ? { machines: observation as MachineState[] }
      : (observation as Partial<ObservedPool>);
    const { observed } = aPool({ desiredNodes: 2 }).withNodes(2).with(change);
    const pool = { ...observed.pool, ...(status && { status }) };
    const plan = reconcilePool({ ...observed, pool }, NOW);
    status = plan.status ?? status;
    steps = plan.remove.map((step) => `${step.verb} ${step.verb === "delete" ? step.name : ""}`);
  }
  const replaced = status?.transitions?.filter(({ type }) => type === "NodeReplaced") ?? [];
  return { replaced, open: status?.replacements ?? [], steps };
}

describe("a node that Cluster API replaces", () => {
  const [one, two] = [machine("one"), machine("two")];
  const unhealthy = machine("two", marked);

  test("is reported once, when the successor has a node, in the patch that clears the pair", () => {
    const before = reconcileWith([one, two], [one, unhealthy], [one], [one, machine("new", joining)]);
    expect(before).toMatchObject({
      replaced: [],
      open: [{ machineUID: "uid-two", successorUID: "uid-new" }],
    });
    const after = reconcileWith(
      [one, two],
      [one, unhealthy],
      [one],
      [one, machine("new", joining)],
      [one, machine("new", young)],
    );
    expect(after).toMatchObject({
      open: [],
      replaced: [{ oldNode: "node-two", newNode: "node-new", reason: "UnhealthyNode" }],
    });
    const again = reconcileWith(
      [one, two],
      [one, unhealthy],
      [one, machine("new", young)],
      [one, machine("new", young)],
    );
    expect(again.replaced).toHaveLength(1);
  });

  test("is reported once although its mark was observed several times and several machines followed", () => {
    const observations = [
      [one, two],
      [one, unhealthy],
      [one, unhealthy],
      [one, machine("new", young), machine("more", young)],
    ];
    expect(reconcileWith(...observations)).toMatchObject({ open: [], replaced: [{ oldNode: "node-two" }] });
  });

  test("is reported although the operator was down from the mark until the successor had its node", () => {
    expect(reconcileWith([one, two], [one, unhealthy], [one, machine("new", young)]).replaced).toHaveLength(
      1,
    );
  });

  test("is reported from its Event although the mark itself was missed", () => {
    const missed = { machines: [one, machine("new", young)], missedRemediations: new Set(["uid-two"]) };
    expect(reconcileWith([one, two], missed)).toMatchObject({
      replaced: [{ oldNode: "node-two", newNode: "node-new" }],
    });
  });

  test("is not reported while the old machine exists", () => {
    expect(
      reconcileWith([one, two], [one, machine("two", { ...marked, deleting: true }), machine("new", young)]),
    ).toMatchObject({
      replaced: [],
      open: [{ successorUID: "uid-new" }],
    });
  });

  test("two at once are paired with different successors", () => {
    const { replaced } = reconcileWith(
      [one, two],
      [machine("one", marked), unhealthy],
      [machine("a", young), machine("b", young)],
    );
    expect(replaced.map(({ oldNode, newNode }) => `${oldNode} ${newNode}`)).toEqual([
      "node-one node-a",
      "node-two node-b",
    ]);
  });

  test("gets another successor when the first one fails before it has a node", () => {
    const failing = machine("bad", { ...joining, ...marked });
    const observations = [
      [one, two],
      [one, unhealthy],
      [one, machine("bad", joining)],
      [one, failing],
      [one],
    ] as const;
    expect(reconcileWith(...observations)).toMatchObject({ replaced: [], open: [{ machineUID: "uid-two" }] });
    expect(reconcileWith(...observations, [one, machine("good", young)]).replaced).toMatchObject([
      { newNode: "node-good" },
    ]);
  });
});

describe("no node was replaced", () => {
  const [one, two] = [machine("one"), machine("two")];
  const small = aPool({ desiredNodes: 1 }).withNodes(1).observed;

  test.each<[string, (readonly MachineState[] | Partial<ObservedPool>)[]]>([
    ["by a scale-down", [[one, two], [one]]],
    ["by a scale-up", [[one], [one, machine("new", young)]]],
    [
      "by a rollout",
      [
        [one, two],
        [one, two, machine("a", young)],
        [two, machine("a", young)],
      ],
    ],
    ["when a machine is deleted by hand", [[one, two], [one], [one, machine("new", young)]]],
    [
      "when a machine that never had a node fails",
      [[one], [one, machine("bad", { ...joining, ...marked })], [one]],
    ],
  ])("%s", (_name, observations) => {
    expect(reconcileWith(...observations)).toMatchObject({ replaced: [], open: [] });
  });

  test("when the pool was made smaller meanwhile: the pair is dropped", () => {
    const shrunk = { ...small, machines: [one] };
    expect(reconcileWith([one, two], [one, machine("two", marked)], shrunk)).toMatchObject({
      replaced: [],
      open: [],
    });
  });

  test("when the pool is deleted", () => {
    const going = aPool().withNodes(2).deleting().observed;
    const gone = { ...going, machines: [one] };
    expect(reconcileWith([one, two], [one, machine("two", marked)], gone)).toMatchObject({
      replaced: [],
      open: [],
    });
  });
});

describe("a requested replacement", () => {
  const [one, two] = [machine("one"), machine("two")];
  const withRequest = (machines: MachineState[], node = "node-two"): Partial<ObservedPool> => {
    const { pool } = aPool({ desiredNodes: 2 }).observed;
    const annotations = { [`replace.cloud.marina.dev/${node}`]: "request" };
    return { pool: { ...pool, metadata: { ...pool.metadata, annotations } }, machines };
  };

  test("is recorded before the machine is deleted", () => {
    expect(reconcileWith([one, two], withRequest([one, two]))).toMatchObject({
      steps: [],
      open: [{ reason: "Requested" }],
    });
    expect(reconcileWith([one, two], withRequest([one, two]), withRequest([one, two])).steps).toEqual([
      "delete two",
    ]);
  });

  test("ends like any other", () => {
    const observations = [
      [one, two],
      withRequest([one, two]),
      withRequest([one, two]),
      [one],
      [one, machine("new", young)],
    ];
    expect(reconcileWith(...observations).replaced).toMatchObject([
      { oldNode: "node-two", newNode: "node-new", reason: "Requested" },
    ]);
  });

  test.each([
    ["when its machine is being deleted", [one, machine("two", { deleting: true })], "node-two", []],
    ["with an Event when there is no such node", [one, two], "elsewhere", ["NodeNotFound"]],
  ])("is removed from the pool: %s", (_name, machines, node, reasons) => {
    const { observed } = aPool({ desiredNodes: 2 }).withNodes(2).with(withRequest(machines, node));
    const converged = {
      ...observed,
      pool: { ...observed.pool, status: reconcilePool(observed, NOW).status ?? {} },
    };
    const plan = reconcilePool(converged, NOW);
    expect(plan.metadata?.dropAnnotations).toEqual([`replace.cloud.marina.dev/${node}`]);
    expect(plan.metadata?.events?.map(({ reason }) => reason)).toEqual(reasons);
  });
});

test("an Event reports each replaced node", () => {
  const { observed } = aPool().withNodes(2);
  const transition = {
    sequence: 3,
    type: "NodeReplaced",
    at: "2026-03-01T12:00:00Z",
    oldNode: "a",
    newNode: "b",
  } as const;
  const next = { phase: "Ready" as const, transitions: [{ ...transition, reason: "UnhealthyNode" }] };
  const pool = { ...observed.pool, status: { phase: "Ready" as const, transitions: [] } };
  const events = composePoolEvents({ ...observed, pool }, next, undefined);
  expect(events).toMatchObject([
    { reason: "NodeReplaced", note: expect.stringContaining("a was replaced by b") },
  ]);
});
