import { describe, expect, test } from "vitest";
import { FINALIZER } from "../decision.ts";
import type { LocalControlPlane } from "../kinds.ts";
import type { ProgramState } from "../processes.ts";
import type { Program } from "../tenant.ts";
import { type ObservedControlPlane, reconcileControlPlane } from "./reconcile.ts";

const WANTED: Record<Program, string> = {
  "kube-apiserver": "a",
  "kube-controller-manager": "c",
  "kube-scheduler": "s",
  kwok: "k",
};

function program(specHash: string, changes: Partial<ProgramState> = {}): ProgramState {
  const state = {
    pid: 7,
    running: true,
    version: "v1.34.2",
    specHash,
    failures: 0,
    retryInMs: 0,
    startNumber: 2,
  };
  return { ...state, ...changes };
}

const ALL: Record<Program, ProgramState> = {
  "kube-apiserver": program("a", { startNumber: 1 }),
  "kube-controller-manager": program("c"),
  "kube-scheduler": program("s"),
  kwok: program("k"),
};

const AVAILABLE: NonNullable<LocalControlPlane["status"]> = {
  initialization: { controlPlaneInitialized: true },
  versions: [{ version: "v1.34.2", replicas: 1 }],
  conditions: [
    {
      type: "Available",
      status: "True",
      reason: "Available",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
      observedGeneration: 1,
    },
  ],
};

function observe(changes: Partial<ObservedControlPlane> = {}, object: Partial<LocalControlPlane> = {}) {
  const observed: ObservedControlPlane = {
    object: {
      apiVersion: "local.marina.dev/v1alpha1",
      kind: "LocalControlPlane",
      metadata: { name: "one-x", namespace: "org", generation: 1, finalizers: [FINALIZER] },
      spec: { version: "v1.34.2", replicas: 1 },
      ...object,
    },
    ownerName: "one",
    hasEndpoint: true,
    secretsGood: true,
    binary: { state: "linked" },
    filesGood: true,
    programs: ALL,
    wanted: WANTED,
    portTaken: false,
    mayStart: true,
    ready: true,
    notReadyBecause: "",
    failure: undefined,
    lastReadyMs: 0,
    now: new Date("2026-01-01T01:00:00Z"),
    ...changes,
  };
  return observed;
}

const start = (name: Program) => ({ do: "start", program: name });
const stop = (name: Program) => ({ do: "stop", program: name });

describe("one step at a time, from nothing to a cluster that runs", () => {
  test.each<{ name: string; changes: Partial<ObservedControlPlane>; effects: object[]; reason: string }>([
    {
      name: "keys first",
      changes: { secretsGood: false },
      effects: [{ do: "createSecrets" }],
      reason: "CreatingKeys",
    },
    {
      name: "then the program",
      changes: { binary: { state: "absent" } },
      effects: [{ do: "link" }],
      reason: "Linking",
    },
    {
      name: "which takes a while",
      changes: { binary: { state: "linking" } },
      effects: [],
      reason: "Linking",
    },
    {
      name: "or fails and is tried again",
      changes: { binary: { state: "failed", message: "no Go" } },
      effects: [{ do: "link" }],
      reason: "LinkFailed",
    },
    {
      name: "certificates",
      changes: { filesGood: false },
      effects: [{ do: "writeFiles" }],
      reason: "WritingFiles",
    },
    {
      name: "the apiserver",
      changes: { programs: {} },
      effects: [start("kube-apiserver")],
      reason: "Starting",
    },
    {
      name: "not a third at the same time",
      changes: { programs: {}, mayStart: false },
      effects: [],
      reason: "WaitingForTurn",
    },
    {
      name: "on another port when the first is taken",
      changes: { programs: {}, portTaken: true },
      effects: [{ do: "movePort" }],
      reason: "MovingPort",
    },
    {
      name: "after its backoff when it ends by itself",
      changes: {
        programs: { "kube-apiserver": program("a", { running: false, failures: 2, retryInMs: 1500 }) },
      },
      effects: [],
      reason: "Ended",
    },
    {
      name: "which takes a moment to be ready",
      changes: {
        programs: { "kube-apiserver": program("a") },
        ready: false,
        notReadyBecause: "/readyz responds with 500",
      },
      effects: [],
      reason: "NotReady",
    },
  ])("$name", ({ changes, effects, reason }) => {
    const decision = reconcileControlPlane(observe({ lastReadyMs: undefined, ready: false, ...changes }));
    expect(decision.effects).toEqual(effects);
    expect(decision.plan.status?.conditions?.[0]).toMatchObject({
      type: "Available",
      status: "False",
      reason,
    });
    expect(decision.plan.status?.versions).toBeUndefined();
    expect(decision.plan.requeueAfterMs).toBeGreaterThan(0);
  });

  test("the error of the last step is reported", () => {
    const failure = "ENOSPC: no space left on device, write";
    const { plan } = reconcileControlPlane(
      observe({ filesGood: false, ready: false, lastReadyMs: undefined, failure }),
    );
    expect(plan.status?.conditions?.[0]).toMatchObject({
      reason: "WritingFiles",
      message: `Certificates are being written. The last attempt failed: ${failure}.`,
    });
  });

  test("the others once the apiserver is ready", () => {
    const { effects, plan } = reconcileControlPlane(
      observe({ programs: { "kube-apiserver": program("a") } }),
    );
    expect(effects).toEqual([start("kube-controller-manager"), start("kube-scheduler"), start("kwok")]);
    expect(plan.status).toMatchObject({
      initialization: { controlPlaneInitialized: true },
      externalManagedControlPlane: true,
      versions: [{ version: "v1.34.2", replicas: 1 }],
      readyReplicas: 1,
    });
  });
});

describe("a cluster that runs", () => {
  test("is left alone, and looked at again after 5 s", () => {
    const { effects, plan } = reconcileControlPlane(observe());
    expect([effects, plan.requeueAfterMs]).toEqual([[], 5000]);
  });

  test("has the same status when nothing happened", () => {
    const first = reconcileControlPlane(observe()).plan.status;
    const status = JSON.parse(JSON.stringify(first));
    expect(reconcileControlPlane(observe({}, { status })).plan.status).toBeUndefined();
  });

  test.each<{ name: string; program: ProgramState; effects: object[] }>([
    {
      name: "one that ended is started",
      program: program("s", { running: false }),
      effects: [start("kube-scheduler")],
    },
    {
      name: "one that ends again and again waits",
      program: program("s", { running: false, retryInMs: 900 }),
      effects: [],
    },
    {
      name: "one with old arguments is replaced",
      program: program("old"),
      effects: [stop("kube-scheduler"), start("kube-scheduler")],
    },
    {
      name: "one that is older than its apiserver is started again",
      program: program("s", { startNumber: 0 }),
      effects: [stop("kube-scheduler"), start("kube-scheduler")],
    },
  ])("$name", ({ program: scheduler, effects }) => {
    const programs = { ...ALL, "kube-scheduler": scheduler };
    expect(reconcileControlPlane(observe({ programs })).effects).toEqual(effects);
  });

  test.each([
    { lastReadyMs: 4000, status: "True" },
    { lastReadyMs: 11_000, status: "False" },
  ])("whose apiserver is away for $lastReadyMs ms is Available $status", ({ lastReadyMs, status }) => {
    const programs = { ...ALL, "kube-apiserver": program("a", { running: false }) };
    const observed = observe({ programs, ready: false, lastReadyMs }, { status: AVAILABLE });
    const { plan } = reconcileControlPlane(observed);
    const conditions = plan.status?.conditions ?? AVAILABLE.conditions;
    expect(conditions?.find(({ type }) => type === "Available")?.status).toBe(status);
  });
});

describe("an upgrade", () => {
  const spec = { version: "v1.35.1", replicas: 1 };
  const upgrading = (changes: Partial<ObservedControlPlane>) =>
    reconcileControlPlane(observe(changes, { spec, status: AVAILABLE }));
  const rollingOut = { type: "RollingOut", status: "True" };

  test("leaves the old apiserver running while the new one is linked", () => {
    const { effects, plan } = upgrading({ binary: { state: "absent" } });
    expect(effects).toEqual([{ do: "link" }]);
    expect(plan.status?.conditions).toMatchObject([{ type: "Available", status: "True" }, rollingOut]);
  });

  test("stops the old one, and keeps its version in the status until the new one is ready", () => {
    const wanted = { ...WANTED, "kube-apiserver": "new" };
    const { effects, plan } = upgrading({ wanted });
    expect(effects).toEqual([stop("kube-apiserver")]);
    expect(plan.status).toMatchObject({ versions: [{ version: "v1.34.2" }], upToDateReplicas: 0 });
    const ready = upgrading({ wanted, programs: { ...ALL, "kube-apiserver": program("new") } });
    expect(ready.plan.status).toMatchObject({ versions: [{ version: "v1.35.1" }], upToDateReplicas: 1 });
    expect(ready.plan.status?.conditions).toMatchObject([
      { status: "True" },
      { type: "RollingOut", status: "False" },
    ]);
  });
});

describe("the two ends", () => {
  test.each([{ ownerName: undefined }, { hasEndpoint: false }])("nothing is done yet with %o", (changes) => {
    const { effects, plan } = reconcileControlPlane(observe(changes));
    expect([effects, plan.status]).toEqual([[], undefined]);
  });

  test("the finalizer comes first", () => {
    const object = observe().object;
    const { plan } = reconcileControlPlane(observe({}, { metadata: { ...object.metadata, finalizers: [] } }));
    expect(plan.metadata).toEqual({ finalizer: FINALIZER });
  });

  test("a deleted one takes everything with it", () => {
    const { metadata } = observe().object;
    const deleted = observe({}, { metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
    const { effects, plan } = reconcileControlPlane(deleted);
    expect([effects, plan.releaseFinalizer]).toEqual([[{ do: "destroy" }], true]);
  });
});
