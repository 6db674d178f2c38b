import { expect, test } from "vitest";
import { chooseProtectedLabel, type Protectable } from "./fields.ts";

const cluster = (name: string, deletionProtection = true): Protectable => ({
  metadata: { name },
  spec: { deletionProtection },
});
const pool = (name: string): Protectable => ({
  metadata: { name },
  spec: { deletionProtection: true, clusterName: "shop" },
});
const deleted = (object: Protectable): Protectable => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
});

test.each([
  ["nothing", undefined, [], undefined],
  ["what is not protected", "cluster.shop", [cluster("shop", false)], undefined],
  ["what is being deleted", "cluster.shop", [deleted(cluster("shop"))], undefined],
  ["a cluster before a pool", undefined, [pool("a"), cluster("shop")], "cluster.shop"],
  ["a pool alone", undefined, [pool("web"), cluster("shop", false)], "node-pool.web"],
  ["what it names already", "node-pool.web", [cluster("shop"), pool("web")], "node-pool.web"],
  ["another one than what is gone", "cluster.old", [pool("web")], "node-pool.web"],
  ["another one than what only has the name", "node-pool.shop", [cluster("shop")], "cluster.shop"],
])("the label of a Namespace names %s", (_what, current, objects, expected) => {
  expect(chooseProtectedLabel(current, objects)).toBe(expected);
});
