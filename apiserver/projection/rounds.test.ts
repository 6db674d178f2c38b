import { describe, expect, test } from "vitest";
import { createId } from "../../shared/id.ts";
import type { ProjectedCluster } from "./project.ts";
import { type Observation, toRounds } from "./rounds.ts";
import { projected, projectedPool } from "./testing.ts";

const ORG_ID = createId();

let count = 0;

function aCluster(change: Partial<ProjectedCluster> = {}): ProjectedCluster {
  count += 1;
  return projected(ORG_ID, count, change);
}

/** Numbers of the sights in each round, gone ones negative. */
function roundsOf(...sights: Observation[]): number[][] {
  return toRounds(sights).map(({ gone, seen }) =>
    [
      ...gone.map((sight) => -sights.indexOf(sight) - 1),
      ...seen.map((sight) => sights.indexOf(sight) + 1),
    ].sort((left, right) => left - right),
  );
}

describe("sights", () => {
  test("that have nothing to do with each other are one round, in the order of their ids", () => {
    const [first, second, third] = [aCluster(), aCluster(), aCluster()];
    const [round, ...others] = toRounds([{ object: third }, { object: first }, { object: second }]);
    expect(others).toEqual([]);
    expect(round?.seen.map(({ object }) => object.id)).toEqual([first.id, second.id, third.id]);
  });

  const one = aCluster({ displayName: "One" });
  test.each<[string, Partial<ProjectedCluster>]>([
    ["object", { uid: one.uid }],
    ["id", { id: one.id }],
    ["place", { namespace: one.namespace, name: one.name }],
    ["name, letter case aside", { displayName: "oNE" }],
  ])("of the same %s come one after the other, as they were seen", (_, shared) => {
    const other = aCluster(shared);
    expect(roundsOf({ object: other }, { object: aCluster() }, { object: one })).toEqual([[1, 2], [3]]);
    expect(roundsOf({ object: one, gone: true }, { object: other })).toEqual([[-1], [2]]);
  });

  test("of a chain come each after the one that it touches", () => {
    const next = aCluster({ id: one.id, displayName: "Next" });
    const last = aCluster({ displayName: "next" });
    expect(roundsOf({ object: one }, { object: next }, { object: last })).toEqual([[1], [2], [3]]);
  });

  test("of pools come after those of clusters; a name is a pool's in its cluster alone", () => {
    const pools = [one.id, one.id, createId()].map((clusterId, n) => ({
      object: { ...projectedPool(ORG_ID, n, clusterId), displayName: "pool" },
    }));
    expect(roundsOf(...pools, { object: one })).toEqual([[4], [1, 3], [2]]);
  });
});
