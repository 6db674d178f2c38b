import { expect, test } from "vitest";
import { createTopologyWrites } from "./topology.ts";

const KEY = "org/demo";

test("a pool waits for the reconcile that may put it into the topology, and for no other", () => {
  const writes = createTopologyWrites(() => 0);
  const end = writes.begin(KEY, ["web"]);
  expect(writes.findPoolWaitMs(KEY, "web")).toBe(500);
  expect(writes.findPoolWaitMs(KEY, "db")).toBeUndefined();
  expect(writes.findPoolWaitMs("org/other", "web")).toBeUndefined();
  expect(writes.findUnknownOutcomeMs(KEY)).toBeUndefined();
  end();
  expect(writes.findPoolWaitMs(KEY, "web")).toBeUndefined();
});

test("an apply without an answer counts for 40 s, with the pools of one before it, whatever reconciles follow", () => {
  let nowMs = 0;
  const writes = createTopologyWrites(() => nowMs);
  writes.noteUnknownOutcome(KEY, ["web"]);
  nowMs = 30_000;
  writes.noteUnknownOutcome(KEY, ["db"]);
  writes.noteUnknownOutcome("org/other", []);
  writes.begin(KEY, [])();
  nowMs = 69_999;
  expect(writes.findUnknownOutcomeMs(KEY)).toBe(1);
  expect(writes.findPoolWaitMs(KEY, "web")).toBe(1);
  expect(writes.findPoolWaitMs(KEY, "db")).toBe(1);
  expect(writes.findPoolWaitMs(KEY, "cache")).toBeUndefined();
  nowMs = 70_000;
  expect(writes.findUnknownOutcomeMs(KEY)).toBeUndefined();
  expect(writes.findPoolWaitMs(KEY, "web")).toBeUndefined();
});
