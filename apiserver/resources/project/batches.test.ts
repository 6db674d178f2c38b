import { describe, expect, test } from "vitest";
import { createId } from "../../../shared/program/id.ts";
import { type Observation, toBatches } from "./batches.ts";
import type { ProjectedCluster } from "./project.ts";
import { projected, projectedPool } from "./testing.ts";

const ORG_ID = createId();

let count = 0;

function aCluster(change: Partial<ProjectedCluster> = {}): ProjectedCluster {
  count += 1;
  return projected(ORG_ID, count, change);
}

/** Numbers of the observations in each batch, negative for deleted objects. */
function batchesOf(...observations: Observation[]): number[][] {
  return toBatches(observations).map(({ deleted, present }) =>
    [
      ...deleted.map((observation) => -observations.indexOf(observation) - 1),
      ...present.map((observation) => observations.indexOf(observation) + 1),
    ].sort((left, right) => left - right),
  );
}

describe("observations", () => {
  test("that are independent form one batch, ordered by id", () => {
    const [first, second, third] = [aCluster(), aCluster(), aCluster()];
    const [batch, ...others] = toBatches([{ object: third }, { object: first }, { object: second }]);
    expect(others).toEqual([]);
    expect(batch?.present.map(({ object }) => object.id)).toEqual([first.id, second.id, third.id]);
  });

  const one = aCluster();
  test.each<[string, Partial<ProjectedCluster>]>([
    ["object", { uid: one.uid }],
    ["id", { id: one.id }],
    ["namespaced name", { namespace: one.namespace, name: one.name }],
  ])("of the same %s are in successive batches, in order", (_, shared) => {
    const other = aCluster(shared);
    expect(batchesOf({ object: other }, { object: aCluster() }, { object: one })).toEqual([[1, 2], [3]]);
    expect(batchesOf({ object: one, deleted: true }, { object: other })).toEqual([[-1], [2]]);
  });

  test("of a chain are each in the batch after the one they depend on", () => {
    const next = aCluster({ id: one.id });
    const last = aCluster({ uid: next.uid });
    expect(batchesOf({ object: one }, { object: next }, { object: last })).toEqual([[1], [2], [3]]);
  });

  test("of pools come after those of clusters, whatever their names", () => {
    const pools = [one.id, one.id, createId()].map((clusterId, n) => ({
      object: { ...projectedPool({ orgId: ORG_ID, id: clusterId, name: "c" }, n), displayName: "pool" },
    }));
    expect(batchesOf(...pools, { object: one })).toEqual([[4], [1, 2, 3]]);
  });
});
