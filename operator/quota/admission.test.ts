import { describe, expect, test } from "vitest";
import { CLUSTER_AMOUNTS, NO_AMOUNTS, type QuotaAmounts } from "../../shared/crd/quota.ts";
import { findOverQuota, type QuotaRequest } from "./usage.ts";

const LIMITS: QuotaAmounts = { clusters: 2, nodePools: 3, nodes: 10, vcpus: 40, memoryGB: 80 };

function nodes(count: number): QuotaAmounts {
  return { clusters: 0, nodePools: 1, nodes: count, vcpus: 2 * count, memoryGB: 4 * count };
}

function aCluster(key: string, createdAt: string, has = true): QuotaRequest {
  return {
    key,
    metadata: { name: key, creationTimestamp: createdAt },
    granted: has ? CLUSTER_AMOUNTS : NO_AMOUNTS,
    requested: CLUSTER_AMOUNTS,
  };
}

function aPool(
  key: string,
  createdAt: string,
  granted: number | undefined,
  requested: number,
  clusterKey = "blue",
): QuotaRequest {
  return {
    key,
    metadata: { name: key, creationTimestamp: createdAt },
    granted: granted === undefined ? NO_AMOUNTS : nodes(granted),
    requested: nodes(requested),
    clusterKey,
  };
}

const blue = aCluster("blue", "1");

describe("the quotas of an organization block", () => {
  test.each<[string, QuotaRequest[], QuotaRequest[], string[]]>([
    ["nothing that fits", [blue], [aPool("a", "1", 4, 6), aPool("b", "2", undefined, 4)], []],
    [
      "the younger of two new clusters",
      [blue, aCluster("red", "3", false), aCluster("green", "2", false)],
      [],
      ["red"],
    ],
    [
      "no running cluster, however young",
      [aCluster("old", "1", false), aCluster("a", "2"), aCluster("b", "3")],
      [],
      ["old"],
    ],
    [
      "a pool that grows too far, not its neighbours",
      [blue],
      [aPool("a", "1", 4, 9), aPool("b", "2", 3, 3)],
      ["a"],
    ],
    ["the younger growth", [blue], [aPool("a", "2", 2, 6), aPool("b", "1", 2, 6)], ["a"]],
    [
      "a new pool beyond the number of pools",
      [blue],
      ["1", "2", "3", "4"].map((it) => aPool(it, it, undefined, 0)),
      ["4"],
    ],
    [
      "nothing that shrinks, though too much runs",
      [blue],
      [aPool("a", "1", 30, 20), aPool("b", "2", 5, 5)],
      [],
    ],
    ["growth while too much runs", [blue], [aPool("a", "1", 30, 20), aPool("b", "2", 5, 6)], ["b"]],
    [
      "no pool on account of a blocked or missing cluster",
      [blue, aCluster("green", "2"), aCluster("red", "3", false)],
      [
        aPool("a", "1", undefined, 99, "red"),
        aPool("b", "2", undefined, 99, "none"),
        aPool("c", "3", undefined, 10),
      ],
      ["red"],
    ],
  ])("%s", (_, clusters, pools, rejected) => {
    expect([...findOverQuota(LIMITS, clusters, pools).keys()]).toEqual(rejected);
  });

  test("with the figures of every exceeded quota", () => {
    const [shortfalls] = findOverQuota({ ...LIMITS, vcpus: 20 }, [blue], [aPool("a", "1", 4, 11)]).values();
    expect(shortfalls).toEqual([
      { name: "nodes", limit: 10, used: 4, growth: 7 },
      { name: "vcpus", limit: 20, used: 8, growth: 14 },
    ]);
  });

  test("whatever the order in which they are listed", () => {
    const pools = [aPool("a", "3", 2, 5), aPool("b", "1", 2, 5), aPool("c", "2", 1, 2)];
    const inOrder = findOverQuota(LIMITS, [blue], pools);
    expect(findOverQuota(LIMITS, [blue], pools.toReversed())).toEqual(inOrder);
    expect([...inOrder.keys()]).toEqual(["a"]);
  });
});
