import { beforeEach, describe, expect, test } from "vitest";
import type { ConditionLike } from "./conditions.ts";
import type { Plan } from "./plan.ts";
import { createStatusThrottle, type StatusThrottle } from "./status-throttle.ts";

interface Status {
  conditions: ConditionLike[];
  pools?: number;
  nodes: number;
  message?: string;
  phase?: string;
  observedGeneration?: number;
  machines?: {
    uid: string;
    ready: boolean;
    phase?: string;
    node?: string;
    provisioned?: boolean;
    vcpus?: number;
  }[];
  transitions?: { type: string }[];
  replacements?: { machineUID: string }[];
}

const ready: ConditionLike = {
  type: "Ready",
  status: "False",
  reason: "WaitingForNodes",
  message: "0 of 1 nodes are ready.",
  lastTransitionTime: "2026-11-22T09:00:00Z",
  observedGeneration: 1,
};
const written: Status = { conditions: [ready], nodes: 0 };
const withNewMessage: Status = {
  conditions: [{ ...ready, message: "The machine has no disk yet." }],
  nodes: 0,
};

const status = "True" as const;

let nowMs: number;
let statuses: StatusThrottle;

beforeEach(() => {
  nowMs = 1_000;
  statuses = createStatusThrottle({ counters: ["pools"], nowMs: () => nowMs });
});

/** What is left of the plan, once it was applied. */
function throttle(key: string, last: Status | undefined, plan: Plan<Status>): Plan<Status> {
  const limited = statuses.limit(key, last, plan);
  statuses.noteApplied(key, limited);
  return limited;
}

function planOf(status: Status | undefined, requeueAfterMs?: number): Plan<Status> {
  return {
    metadata: undefined,
    write: [],
    remove: [],
    status,
    events: [],
    releaseFinalizer: false,
    requeueAfterMs,
  };
}

describe("a new message", () => {
  test("is written at once when nothing was written for 20 s", () => {
    expect(throttle("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
    nowMs += 20_000;
    expect(throttle("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
  });

  test("waits until 20 s after the last write, whatever it changed", () => {
    throttle("a", undefined, planOf(written));
    nowMs += 4_000;
    expect(throttle("a", written, planOf(withNewMessage))).toMatchObject({
      status: undefined,
      requeueAfterMs: 16_000,
    });
    nowMs += 15_999;
    expect(throttle("a", written, planOf(withNewMessage))).toMatchObject({
      status: undefined,
      requeueAfterMs: 1,
    });
    nowMs += 1;
    expect(throttle("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
  });

  test("delays no earlier requeue and nothing else of the plan", () => {
    throttle("a", undefined, planOf(written));
    const plan = { ...planOf(withNewMessage, 300), releaseFinalizer: true };
    expect(throttle("a", written, plan)).toEqual({ ...plan, status: undefined });
  });

  test("does not wait for a status that could not be written", () => {
    expect(statuses.limit("a", undefined, planOf(written)).status).toBe(written);
    expect(statuses.limit("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
  });

  test("of one object does not wait for another's", () => {
    throttle("a", undefined, planOf(written));
    expect(throttle("b", written, planOf(withNewMessage)).status).toBe(withNewMessage);
  });

  test("waits although a hundred others were written in between", () => {
    for (let n = 0; n < 100; n++) throttle(`other-${n}`, undefined, planOf(written));
    throttle("a", undefined, planOf(written));
    nowMs += 19_999;
    throttle("other-1", written, planOf({ ...written, nodes: 1 }));
    expect(throttle("a", written, planOf(withNewMessage)).status).toBeUndefined();
  });
});

test.each<[string, Status]>([
  ["a condition's status", { ...withNewMessage, conditions: [{ ...ready, status: "True" }] }],
  ["a reason", { ...withNewMessage, conditions: [{ ...ready, reason: "Scaling" }] }],
  ["a condition's generation", { ...withNewMessage, conditions: [{ ...ready, observedGeneration: 2 }] }],
  ["a condition that comes", { ...withNewMessage, conditions: [ready, { ...ready, type: "Stalled" }] }],
  ["a count", { ...withNewMessage, nodes: 1 }],
  ["the first message", { ...withNewMessage, message: "It waits for a disk." }],
])("%s is written at once, with the current message", (_name, next) => {
  throttle("a", undefined, planOf(written));
  expect(throttle("a", written, planOf(next)).status).toBe(next);
});

describe("counters alone", () => {
  const counted = (pools: number): Status => ({ ...written, pools });

  test("are written once they have had their values for 20 s", () => {
    expect(throttle("a", written, planOf(counted(1)))).toMatchObject({
      status: undefined,
      requeueAfterMs: 20_000,
    });
    nowMs += 19_000;
    expect(throttle("a", written, planOf(counted(2)))).toMatchObject({ requeueAfterMs: 20_000 });
    nowMs += 19_999;
    expect(throttle("a", written, planOf(counted(2)))).toMatchObject({
      status: undefined,
      requeueAfterMs: 1,
    });
    nowMs += 1;
    expect(throttle("a", written, planOf(counted(2))).status).toEqual(counted(2));
  });

  test("that never rest are written 40 s after they began to differ", () => {
    for (let pools = 1; pools <= 4; pools++) {
      expect(throttle("a", written, planOf(counted(pools))).status).toBeUndefined();
      nowMs += 9_000;
    }
    expect(throttle("a", written, planOf(counted(5)))).toMatchObject({
      status: undefined,
      requeueAfterMs: 4_000,
    });
    nowMs += 4_000;
    expect(throttle("a", written, planOf(counted(6))).status).toEqual(counted(6));
  });

  test("are written at once together with another change", () => {
    const next = { ...counted(1), conditions: [{ ...ready, status }] };
    expect(throttle("a", written, planOf(next)).status).toBe(next);
  });
});

describe("while an object is being created", () => {
  const machine = { uid: "1", ready: false };
  const stalled = { ...ready, type: "Stalled", reason: "NotStalled" };
  const creating: Status = {
    ...written,
    conditions: [ready, stalled],
    phase: "Provisioning",
    observedGeneration: 1,
    machines: [machine],
  };

  test.each<[string, Partial<Status>]>([
    ["a count", { nodes: 1 }],
    ["a condition that comes", { conditions: [ready, stalled, { ...ready, type: "Endpoint" }] }],
    ["a condition's status", { conditions: [{ ...ready, status: "Unknown" }, stalled] }],
    ["the state of a machine", { machines: [{ ...machine, ready: true }] }],
    ["the first message", { message: "It waits for a disk." }],
  ])("%s waits until 20 s after the last write", (_name, change) => {
    throttle("a", undefined, planOf(creating));
    nowMs += 19_000;
    const next = { ...creating, ...change };
    expect(throttle("a", creating, planOf(next))).toMatchObject({ status: undefined, requeueAfterMs: 1_000 });
    nowMs += 1_000;
    expect(throttle("a", creating, planOf(next)).status).toBe(next);
  });

  test.each<[string, Partial<Status>]>([
    ["a reason", { conditions: [{ ...ready, reason: "Scaling" }, stalled] }],
    ["a condition's message", { conditions: [{ ...ready, message: "It has no disk." }, stalled] }],
    ["the phase of a machine", { machines: [{ ...machine, phase: "Pending" }] }],
  ])("%s waits until 60 s after the last write, or 20 s where a message explains it", (_name, change) => {
    throttle("a", undefined, planOf(creating));
    throttle("b", undefined, planOf(creating));
    nowMs += 20_000;
    const next = { ...creating, ...change };
    const explained = { ...next, message: "It waits for a disk." };
    expect(throttle("a", creating, planOf(next))).toMatchObject({
      status: undefined,
      requeueAfterMs: 40_000,
    });
    expect(throttle("b", creating, planOf(explained)).status).toBe(explained);
    nowMs += 40_000;
    expect(throttle("a", creating, planOf(next)).status).toBe(next);
  });

  test.each<[string, Partial<Status>]>([
    ["its end", { phase: "Ready" }],
    ["a condition that is not True any more", { conditions: [ready] }],
    ["a failure", { conditions: [ready, { ...stalled, status: "True", reason: "QuotaExceeded" }] }],
    ["another generation", { observedGeneration: 2 }],
    ["another machine", { machines: [machine, { uid: "2", ready: false }] }],
    ["that the infrastructure of a machine exists", { machines: [{ ...machine, provisioned: true }] }],
    ["the size of a machine, by which it is billed", { machines: [{ ...machine, vcpus: 2 }] }],
    ["that a machine has a node", { machines: [{ ...machine, node: "node-1" }] }],
    ["a transition", { transitions: [{ type: "Ready" }] }],
    ["a replacement", { replacements: [{ machineUID: "1" }] }],
  ])("%s is written at once", (_name, change) => {
    const before = { ...creating, conditions: [ready, stalled, { ...ready, type: "Endpoint", status }] };
    throttle("a", undefined, planOf(before));
    const next = { ...before, nodes: 1, ...change };
    expect(throttle("a", before, planOf(next)).status).toBe(next);
  });

  test("counters alone are not written, and nothing waits for them", () => {
    throttle("a", undefined, planOf(creating));
    nowMs += 60_000;
    const plan = throttle("a", creating, planOf({ ...creating, pools: 1 }));
    expect(plan).toMatchObject({ status: undefined, requeueAfterMs: undefined });
  });

  test("a status that comes with an Event is written at once", () => {
    throttle("a", undefined, planOf(creating));
    const regarding = { apiVersion: "v1", kind: "Thing", name: "a" };
    const event = { regarding, type: "Warning", reason: "Waiting", action: "Create", note: "" } as const;
    const next = { ...creating, nodes: 1 };
    expect(throttle("a", creating, { ...planOf(next), events: [event] }).status).toBe(next);
  });
});

test("an unchanged status does not count as a write", () => {
  throttle("a", written, planOf(undefined));
  expect(throttle("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
});
