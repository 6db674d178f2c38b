import { describe, expect, test } from "vitest";
import {
  describeShortfalls,
  findShortfalls,
  formatLimits,
  NO_AMOUNTS,
  parseLimits,
  poolAmounts,
  type QuotaAmounts,
} from "./quota.ts";

const LIMITS: QuotaAmounts = { clusters: 1, nodePools: 2, nodes: 10, vcpus: 20, memoryGB: 40 };
const SIZE = { vcpus: 2, memoryGB: 4, desiredNodes: 3 };

describe("a pool counts", () => {
  test.each<[string, Parameters<typeof poolAmounts>[0], number]>([
    ["its desired nodes", SIZE, 3],
    ["nothing when it is empty", { ...SIZE, desiredNodes: 0 }, 0],
    ["its desired nodes when its budget leaves no room", { ...SIZE, minVCPUs: 8, maxVCPUs: 8 }, 3],
    ["the most it may grow to by CPU", { ...SIZE, maxVCPUs: 13 }, 6],
    ["the most it may grow to by memory", { ...SIZE, maxVCPUs: 40, maxMemoryGB: 19 }, 4],
  ])("%s", (_, pool, nodes) => {
    expect(poolAmounts(pool)).toEqual({
      clusters: 0,
      nodePools: 1,
      nodes,
      vcpus: nodes * 2,
      memoryGB: nodes * 4,
    });
  });
});

describe("a growth is refused", () => {
  const used = { ...NO_AMOUNTS, nodes: 9, vcpus: 30 };
  test.each<[string, Partial<QuotaAmounts>, string[]]>([
    ["not up to the limit", { nodes: 1 }, []],
    ["beyond it", { nodes: 2 }, ["nodes"]],
    ["not for a quota that it leaves alone, whatever stands there", { clusters: 1 }, []],
    ["for every quota that is short", { nodes: 2, vcpus: 4, memoryGB: 8 }, ["nodes", "vcpus"]],
  ])("%s", (_, growth, names) => {
    const shortfalls = findShortfalls(LIMITS, used, { ...NO_AMOUNTS, ...growth });
    expect(shortfalls.map(({ name }) => name)).toEqual(names);
  });

  test("in a sentence with limit, use and wish", () => {
    expect(describeShortfalls(findShortfalls(LIMITS, used, { ...NO_AMOUNTS, vcpus: 4 }))).toBe(
      "A quota of the organization does not allow it (vCPUs: 20 allowed, 30 in use, 4 more asked for). Ask for less, delete what is not needed, or ask the platform's operator for more.",
    );
  });
});

describe("the limits on a Namespace", () => {
  test("are read as they were written", () => {
    expect(parseLimits(formatLimits(LIMITS))).toEqual(LIMITS);
  });

  test.each([
    [undefined],
    [""],
    ["{}"],
    ['{"clusters":1}'],
    [JSON.stringify({ ...LIMITS, nodes: -1 })],
    ["null"],
  ])("are none when they are %s", (text) => {
    expect(parseLimits(text)).toBeUndefined();
  });
});
