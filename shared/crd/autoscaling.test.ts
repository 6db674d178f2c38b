import { describe, expect, test } from "vitest";
import {
  autoscalingRange,
  findMaximaBelowOneNode,
  isAutoscaled,
  type PoolTotals,
} from "./node-pool-rules.ts";

const node = { vcpus: 4, memoryGB: 16 };

describe("a pool is autoscaled", () => {
  test.each<[string, Partial<PoolTotals>, boolean]>([
    ["with no totals", {}, false],
    ["with a CPU maximum alone", { maxVCPUs: 8 }, true],
    ["with a memory maximum alone", { maxMemoryGB: 32 }, true],
    ["with a minimum alone", { minVCPUs: 8 }, false],
    ["with equal totals", { minVCPUs: 8, maxVCPUs: 8, minMemoryGB: 32, maxMemoryGB: 32 }, false],
    ["with room in one total only", { minVCPUs: 8, maxVCPUs: 8, minMemoryGB: 32, maxMemoryGB: 64 }, true],
  ])("%s: %j %s", (_, totals, autoscaled) => {
    expect(isAutoscaled({ ...node, ...totals })).toBe(autoscaled);
  });
});

describe("the range of nodes", () => {
  test.each<[string, Partial<PoolTotals>, number, number]>([
    ["is the tighter of CPU and memory above", { maxVCPUs: 40, maxMemoryGB: 48 }, 1, 3],
    ["is the tighter of CPU and memory below", { minVCPUs: 8, minMemoryGB: 80, maxVCPUs: 40 }, 5, 10],
    ["rounds inwards", { minVCPUs: 5, maxVCPUs: 15 }, 2, 3],
    ["begins at one node when only one minimum is 0", { minVCPUs: 0, maxVCPUs: 8, maxMemoryGB: 32 }, 1, 2],
    ["begins at one node when a maximum is missing", { minVCPUs: 0, minMemoryGB: 0, maxVCPUs: 8 }, 1, 2],
    [
      "begins at none when both minima are 0",
      { minVCPUs: 0, minMemoryGB: 0, maxVCPUs: 8, maxMemoryGB: 32 },
      0,
      2,
    ],
    ["holds one node when a maximum is less than one node", { maxVCPUs: 3, maxMemoryGB: 320 }, 1, 1],
    [
      "holds at most one node when both minima are 0 and a maximum is less than one node",
      { minVCPUs: 0, minMemoryGB: 0, maxVCPUs: 1, maxMemoryGB: 1 },
      0,
      1,
    ],
    ["ends at the largest size of a pool", { maxVCPUs: 128_000 }, 1, 1000],
    ["is empty when no number of nodes fits", { minVCPUs: 16, maxVCPUs: 32, maxMemoryGB: 32 }, 4, 2],
  ])("%s: %j", (_, totals, minNodes, maxNodes) => {
    expect(autoscalingRange({ ...node, ...totals })).toEqual({ minNodes, maxNodes });
  });
});

test.each<[Partial<PoolTotals>, string[]]>([
  [{ maxVCPUs: 3, maxMemoryGB: 16 }, ["maxVCPUs"]],
  [{ maxVCPUs: 1, maxMemoryGB: 15 }, ["maxVCPUs", "maxMemoryGB"]],
  [{ maxVCPUs: 4 }, []],
  [{ minVCPUs: 3, maxVCPUs: 3 }, []],
])("the maxima that an autoscaled pool exceeds with one node: %j", (totals, maxima) => {
  expect(findMaximaBelowOneNode({ ...node, ...totals })).toEqual(maxima);
});
