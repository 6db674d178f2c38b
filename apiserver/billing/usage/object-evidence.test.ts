import { describe, expect, test } from "vitest";
import { FINALIZER } from "../../../shared/crd/names.ts";
import type { NodePoolMachine, NodePoolStatus } from "../../../shared/crd/node-pool.ts";
import { applyEvidence } from "./apply-evidence.ts";
import { findClusterEvidence, findMachineEvidence } from "./object-evidence.ts";
import { at, createLedger, GONE, type Ledger, NOT_SEEN, SIZE, seenCluster, seenPool } from "./testing.ts";

const READY = { firstReadyAt: "2026-02-10T08:00:00Z" };

describe("a cluster", () => {
  const observe = (ledger: Ledger, clock: string, status: object, change: object = {}) =>
    ledger.observe((latest) => findClusterEvidence(seenCluster(status, change), latest, at(clock)));

  test("counts nothing before its first Ready, and nothing when it was deleted before", () => {
    const ledger = createLedger();
    observe(ledger, "08:00:00", { publicAddress: "192.0.2.1", usage: { loadBalancers: 1 } });
    observe(ledger, "09:00:00", {}, { end: GONE("08:30:00") });
    expect(ledger.uses()).toEqual([]);
  });

  test("counts one control plane, and its package, from the first Ready to its end", () => {
    const ledger = createLedger();
    observe(ledger, "08:00:07", READY, { plan: "growth" });
    observe(ledger, "10:00:00", { ...READY, phase: "Failed" }, { plan: "growth" });
    expect(ledger.uses()).toEqual(["control_plane 1 08:00:00-", "plan:growth 1 08:00:00-"]);
    observe(ledger, "12:00:10", READY, { plan: "growth", end: GONE("12:00:00") });
    expect(ledger.uses()).toEqual(["control_plane 1 08:00:00-12:00:00", "plan:growth 1 08:00:00-12:00:00"]);
  });

  test("that others keep, by a finalizer of theirs, counts until the operator has released it", () => {
    const ledger = createLedger();
    const deletionTimestamp = "2026-02-10T09:00:00Z";
    const finalizers = ["example.com/keep", FINALIZER];
    observe(ledger, "09:00:00", READY, { metadata: { finalizers } });
    observe(ledger, "09:10:00", READY, { metadata: { finalizers, deletionTimestamp } });
    expect(ledger.uses()).toEqual(["control_plane 1 08:00:00-"]);
    const released = { metadata: { finalizers: finalizers.slice(0, 1), deletionTimestamp } };
    observe(ledger, "09:20:00", READY, released);
    observe(ledger, "10:00:00", READY, released);
    observe(ledger, "12:00:00", READY, { ...released, end: GONE("11:00:00") });
    expect(ledger.uses()).toEqual(["control_plane 1 08:00:00-09:20:00"]);
  });

  test("that became ready and was deleted between two observations counts for its time", () => {
    const ledger = createLedger();
    observe(ledger, "12:00:00", READY, { end: GONE("08:00:01") });
    expect(ledger.uses()).toEqual(["control_plane 1 08:00:00-08:00:01"]);
  });

  test("counts what its status names from when it was seen, each quantity until it is seen to be another", () => {
    const ledger = createLedger();
    const status = { ...READY, publicAddress: "192.0.2.1" };
    observe(ledger, "09:00:00", {
      ...status,
      usage: { blockStorageGB: 10, loadBalancers: 2, snapshotGB: 0 },
    });
    observe(ledger, "10:00:00", {
      ...status,
      usage: { blockStorageGB: 15, loadBalancers: 2, snapshotGB: 3 },
    });
    observe(ledger, "11:00:00", { ...READY, usage: { snapshotGB: 3 } });
    observe(ledger, "12:00:00", READY, { end: GONE("11:30:00") });
    expect(ledger.uses()).toEqual([
      "control_plane 1 08:00:00-11:30:00",
      "loadbalancer 2 09:00:00-11:00:00",
      "public_ip 1 09:00:00-11:00:00",
      "snapshot 3 10:00:00-11:30:00",
      "storage_block 10 09:00:00-10:00:00",
      "storage_block 15 10:00:00-11:00:00",
    ]);
  });

  test("that exists again after its end counts from when it was seen again", () => {
    const ledger = createLedger();
    observe(ledger, "09:00:00", READY);
    observe(ledger, "10:00:00", READY, { end: GONE("10:00:00") });
    observe(ledger, "10:00:05", READY, { end: GONE("10:00:00") });
    observe(ledger, "11:00:00", READY);
    expect(ledger.uses()).toEqual(["control_plane 1 08:00:00-10:00:00", "control_plane 1 11:00:00-"]);
  });

  test("whose end was not observed ends when it was last seen, with that reason", () => {
    const ledger = createLedger();
    observe(ledger, "09:00:00", READY);
    observe(ledger, "15:00:00", READY, { end: NOT_SEEN("12:00:00") });
    expect(ledger.uses()).toEqual(["control_plane 1 08:00:00-12:00:00"]);
    expect(ledger.evidence.at(-1)?.sample.endReason).toBe("not_seen");
  });

  test("is written once, however often it is observed", () => {
    const ledger = createLedger();
    const status = { ...READY, publicAddress: "192.0.2.1", usage: { snapshotGB: 1 } };
    for (const clock of ["09:00:00", "09:00:10", "09:00:20"]) observe(ledger, clock, status);
    expect(ledger.evidence).toHaveLength(2);
  });
});

describe("a machine", () => {
  type Listed = { machines?: Partial<NodePoolMachine>[]; goneMachines?: object[] };
  const machine = (uid: string, change: Partial<NodePoolMachine> = {}) => ({
    uid,
    name: uid,
    node: `node-${uid}`,
    ready: true,
    createdAt: "2026-02-10T08:00:00Z",
    ...SIZE,
    ...change,
  });
  const gone = (uid: string, goneAt: string, hadNode = true) => ({
    uid,
    createdAt: "2026-02-10T08:00:00Z",
    goneAt: at(goneAt).toISOString(),
    hadNode,
    ...SIZE,
  });
  const observe = (ledger: Ledger, clock: string, listed: Listed, change: object = {}) =>
    ledger.observe((latest) =>
      findMachineEvidence(
        seenPool(listed as NodePoolStatus, change),
        { latest, running: ledger.running(), lastSeenAt: at("09:59:50") },
        at(clock),
      ),
    );
  const vcpus = (ledger: Ledger) => ledger.uses().filter((use) => use.startsWith("vcpu"));

  test("counts vCPUs, memory and disk from its creation until it is gone", () => {
    const ledger = createLedger();
    observe(ledger, "08:30:00", { machines: [machine("a")] });
    observe(ledger, "10:00:10", { goneMachines: [gone("a", "10:00:00")] });
    expect(ledger.uses()).toEqual([
      "disk 80 08:00:00-10:00:00",
      "memory 8 08:00:00-10:00:00",
      "vcpu 4 08:00:00-10:00:00",
    ]);
    expect(ledger.intervals[0]).toMatchObject({ nodePoolId: "pool", clusterId: "cluster", subject: "a" });
  });

  test("counts with the package of its cluster, which rating counts once", () => {
    const ledger = createLedger();
    observe(ledger, "08:30:00", { machines: [machine("a")] }, { plan: "growth" });
    observe(
      ledger,
      "10:00:10",
      { goneMachines: [gone("a", "10:00:00"), gone("b", "09:00:00")] },
      { plan: "growth" },
    );
    expect(ledger.uses().filter((use) => use.startsWith("plan"))).toEqual([
      "plan:growth 1 08:00:00-09:00:00",
      "plan:growth 1 08:00:00-10:00:00",
    ]);
  });

  test.each<[string, Listed[], string[]]>([
    ["has no node yet", [{ machines: [machine("a", { node: undefined as never })] }], []],
    [
      "has no node, for its tenant keeps it away, but runs",
      [{ machines: [machine("a", { node: undefined as never, provisioned: true })] }],
      ["vcpu 4 08:00:00-"],
    ],
    ["has no known size yet", [{ machines: [{ ...machine("a"), vcpus: undefined as never }] }], []],
    [
      "joined after it was seen",
      [{ machines: [machine("a", { node: undefined as never })] }, { machines: [machine("a")] }],
      ["vcpu 4 08:00:00-"],
    ],
    ["never had a node", [{ goneMachines: [gone("a", "09:00:00", false)] }], []],
    [
      "was created and deleted between two observations",
      [{ goneMachines: [gone("a", "09:00:00")] }],
      ["vcpu 4 08:00:00-09:00:00"],
    ],
    ["went in the second of its creation", [{ goneMachines: [gone("a", "08:00:00")] }], []],
    ["went before its creation, by a clock that jumped", [{ goneMachines: [gone("a", "07:00:00")] }], []],
    [
      "has an end before its start in the ledger",
      [{ machines: [machine("a")] }, { goneMachines: [gone("a", "07:00:00")] }],
      ["vcpu 4 08:00:00-08:00:00"],
    ],
    [
      "went, although its node was never listed",
      [{ machines: [machine("a")] }, { goneMachines: [gone("a", "09:00:00", false)] }],
      ["vcpu 4 08:00:00-09:00:00"],
    ],
    [
      "is replaced by another one",
      [
        { machines: [machine("a")] },
        {
          machines: [machine("b", { createdAt: "2026-02-10T09:00:00Z" })],
          goneMachines: [gone("a", "09:30:00")],
        },
      ],
      ["vcpu 4 08:00:00-09:30:00", "vcpu 4 09:00:00-"],
    ],
    [
      "lost its node for a while",
      [{ machines: [machine("a")] }, { machines: [machine("a", { node: undefined as never })] }],
      ["vcpu 4 08:00:00-"],
    ],
    ["is named no more", [{ machines: [machine("a")] }, {}], ["vcpu 4 08:00:00-09:59:50"]],
    [
      "is named again after that",
      [{ machines: [machine("a")] }, {}, { machines: [machine("a")] }],
      ["vcpu 4 08:00:00-09:59:50", "vcpu 4 10:02:00-"],
    ],
  ])("that %s", (_name, statuses, expected) => {
    const ledger = createLedger();
    for (const [n, listed] of [...statuses, ...statuses.slice(-1)].entries())
      observe(ledger, `10:0${n}:00`, listed);
    expect(vcpus(ledger)).toEqual(expected);
  });

  test("of a deleted pool ends with it, but no later than it went", () => {
    const ledger = createLedger();
    observe(ledger, "08:30:00", { machines: [machine("a"), machine("b"), machine("c")] });
    const last = { machines: [machine("a"), machine("d")], goneMachines: [gone("b", "09:00:00")] };
    observe(ledger, "10:00:00", last, { end: GONE("09:45:00") });
    expect(vcpus(ledger)).toEqual([
      "vcpu 4 08:00:00-09:00:00",
      "vcpu 4 08:00:00-09:45:00",
      "vcpu 4 08:00:00-09:45:00",
      "vcpu 4 08:00:00-09:45:00",
    ]);
  });

  test("is written once, however often it is observed", () => {
    const ledger = createLedger();
    const listed = { machines: [machine("a")], goneMachines: [gone("b", "09:00:00")] };
    for (const clock of ["09:30:00", "09:30:10"]) observe(ledger, clock, listed);
    expect(ledger.evidence).toHaveLength(3);
  });
});

test("evidence of one kind leaves the quantities of others alone", () => {
  const ledger = createLedger();
  const latest = ledger.latest;
  const place = { clusterId: "c", clusterName: "c", nodePoolId: null };
  const item = (kind: "control_plane" | "cluster_resources", quantities: object) => ({
    id: kind,
    organizationId: "o",
    subject: "c",
    objectUid: "u",
    kind,
    sample: { at: at("08:00:00").toISOString(), quantities, ...place },
  });
  const changes = applyEvidence(
    latest,
    [item("control_plane", { control_plane: "1" }), item("cluster_resources", {})],
    () => crypto.randomUUID(),
  );
  expect(changes).toMatchObject({ opened: [{ resourceType: "control_plane", endedAt: null }], ended: [] });
});
