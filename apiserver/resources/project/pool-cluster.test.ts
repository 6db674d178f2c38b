import { expect, test } from "vitest";
import { createId } from "../../../shared/program/id.ts";
import { classifyCluster, separatePools } from "./records.ts";
import { projected, projectedPool } from "./testing.ts";

const orgId = createId();
const cluster = projected(orgId, 1);
const pool = projectedPool(cluster, 2);
const place = { orgId, namespace: cluster.namespace, objectName: cluster.name };

test.each([
  ["the records have it where the pool looks for it", place, "own"],
  ["there is no record of it yet", undefined, "unrecorded"],
  ["it is another organization's", { ...place, orgId: createId() }, "misplaced"],
  ["it is in another Namespace", { ...place, namespace: "org-other" }, "misplaced"],
  ["it has another name", { ...place, objectName: "other" }, "misplaced"],
])("a pool's cluster, when %s", (_, recorded, result) => {
  expect(classifyCluster(pool, recorded)).toBe(result);
});

test("clusters are written whatever is recorded, and pools only with their own cluster", () => {
  const items = [{ object: cluster }, { object: pool }];
  expect(separatePools(items, new Map([[cluster.id, place]])).writable).toEqual(items);
  expect(separatePools(items, new Map())).toEqual({
    writable: items.slice(0, 1),
    misplaced: [],
    unrecorded: [pool.id],
  });
});
