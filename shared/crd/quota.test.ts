import { describe, expect, test } from "vitest";
import type { NodePool } from "./node-pool.ts";
import {
  describeShortfalls,
  findShortfalls,
  formatLimits,
  NO_AMOUNTS,
  occupiedAmounts,
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

describe("beside what a pool is to have, its machines hold", () => {
  const [up, going] = ["Running", "Deleting"];
  const large = 8;
  type Listed = [phase: string | undefined, vcpus?: number | undefined];
  test.each<[string, Listed[], { desired: number; isDeleting?: boolean }, { nodes: number; vcpus: number }]>([
    ["nothing where there are none yet", [], { desired: 3 }, { nodes: 0, vcpus: 0 }],
    ["nothing up to its desired", [[up], [undefined]], { desired: 2 }, { nodes: 0, vcpus: 0 }],
    ["those above it, deleted or not yet", [[up], [up], [going]], { desired: 0 }, { nodes: 3, vcpus: 6 }],
    [
      "those that are deleted, for which it gets others",
      [[going], [going]],
      { desired: 2 },
      { nodes: 2, vcpus: 4 },
    ],
    ["one more while one is replaced", [[up], [up], [going]], { desired: 2 }, { nodes: 1, vcpus: 2 }],
    [
      "larger ones by their own size",
      [
        [up, large],
        [going, large],
      ],
      { desired: 1 },
      { nodes: 1, vcpus: 14 },
    ],
    ["one of unknown size as specified", [[going]], { desired: 0 }, { nodes: 1, vcpus: 2 }],
    [
      "of a deleted pool those above its desired",
      [[going], [going]],
      { desired: 2, isDeleting: true },
      { nodes: 0, vcpus: 0 },
    ],
    [
      "of a deleted pool without a desired all of them",
      [[going], [up]],
      { desired: 0, isDeleting: true },
      { nodes: 2, vcpus: 4 },
    ],
  ])("%s", (_, listed, { desired, isDeleting }, held) => {
    const machines = listed.map(([phase, ...[vcpus]]) => ({ phase, vcpus, memoryGB: 4 }));
    const metadata = { name: "web", ...(isDeleting && { deletionTimestamp: "2026-01-01T00:00:00Z" }) };
    const pool = { metadata, spec: SIZE, status: { machines } } as unknown as NodePool;
    const { nodes, vcpus, ...rest } = occupiedAmounts(pool, poolAmounts({ ...SIZE, desiredNodes: desired }));
    expect({ nodes, vcpus }).toEqual(held);
    expect(rest).toMatchObject({ clusters: 0, nodePools: 0 });
  });
});

describe("an increase is rejected", () => {
  const used = { ...NO_AMOUNTS, nodes: 9, vcpus: 30 };
  test.each<[string, Partial<QuotaAmounts>, string[]]>([
    ["not up to the limit", { nodes: 1 }, []],
    ["beyond it", { nodes: 2 }, ["nodes"]],
    ["not for an unchanged quota, whatever its usage", { clusters: 1 }, []],
    ["for every exceeded quota", { nodes: 2, vcpus: 4, memoryGB: 8 }, ["nodes", "vcpus"]],
  ])("%s", (_, growth, names) => {
    const shortfalls = findShortfalls(LIMITS, used, { ...NO_AMOUNTS, ...growth });
    expect(shortfalls.map(({ name }) => name)).toEqual(names);
  });

  test("with a message of limit, usage and request", () => {
    expect(describeShortfalls(findShortfalls(LIMITS, used, { ...NO_AMOUNTS, vcpus: 4 }))).toBe(
      "The request exceeds a quota of the organization (vCPUs: 20 allowed, 30 in use, 4 more requested). Request less, delete unused resources, or ask the platform's operator for a higher quota.",
    );
  });
});

describe("the limits on a Namespace", () => {
  test("are parsed as they were formatted", () => {
    expect(parseLimits(formatLimits(LIMITS))).toEqual(LIMITS);
  });

  test("are undefined without an annotation", () => {
    expect(parseLimits(undefined)).toBeUndefined();
  });

  test.each([[""], ["{}"], ['{"clusters":1}'], [JSON.stringify({ ...LIMITS, nodes: -1 })], ["null"], ["[1"]])(
    "allow nothing more when the annotation is malformed: %s",
    (text) => {
      expect(parseLimits(text)).toEqual(NO_AMOUNTS);
    },
  );
});
