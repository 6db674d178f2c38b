import { beforeEach, describe, expect, test } from "vitest";
import type { ConditionLike } from "./conditions.ts";
import type { Plan } from "./plan.ts";
import { createStatusThrottle, type StatusThrottle } from "./status-throttle.ts";

interface Status {
  conditions: ConditionLike[];
  nodes: number;
  message?: string;
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

let nowMs: number;
let throttle: StatusThrottle;

beforeEach(() => {
  nowMs = 1_000;
  throttle = createStatusThrottle(() => nowMs);
});

function planOf(status: Status | undefined, requeueAfterMs?: number): Plan<Status> {
  return {
    metadata: undefined,
    apply: [],
    remove: [],
    status,
    events: [],
    releaseFinalizer: false,
    requeueAfterMs,
  };
}

describe("a new message", () => {
  test("is written at once when nothing was written for 10 s", () => {
    expect(throttle("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
    nowMs += 10_000;
    expect(throttle("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
  });

  test("waits until 10 s after the last write, whatever it changed", () => {
    throttle("a", undefined, planOf(written));
    nowMs += 4_000;
    expect(throttle("a", written, planOf(withNewMessage))).toMatchObject({
      status: undefined,
      requeueAfterMs: 6_000,
    });
    nowMs += 5_999;
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

  test("of one object does not wait for another's", () => {
    throttle("a", undefined, planOf(written));
    expect(throttle("b", written, planOf(withNewMessage)).status).toBe(withNewMessage);
  });

  test("waits although a hundred others were written in between", () => {
    for (let n = 0; n < 100; n++) throttle(`other-${n}`, undefined, planOf(written));
    throttle("a", undefined, planOf(written));
    nowMs += 9_999;
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

test("an unchanged status does not count as a write", () => {
  throttle("a", written, planOf(undefined));
  expect(throttle("a", written, planOf(withNewMessage)).status).toBe(withNewMessage);
});
