import { expect, test } from "vitest";
import type { Change } from "../kube/reflector.ts";
import { changesProtection, chooseProtectedLabel, type Protectable } from "./fields.ts";

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

const open: Protectable = { metadata: { name: "shop" }, spec: {} };
const kept: Protectable = { metadata: { name: "shop" }, spec: { deletionProtection: true } };
const going: Protectable = {
  ...kept,
  metadata: { name: "shop", deletionTimestamp: "2026-11-21T09:00:00Z" },
};

test.each<[boolean, string, Change<Protectable>["type"], Protectable | undefined, Protectable]>([
  [true, "a protected object that appears", "added", undefined, kept],
  [false, "another object that appears", "added", undefined, open],
  [true, "an object that is protected", "updated", open, kept],
  [true, "an object that is protected no more", "updated", kept, open],
  [true, "a protected object whose deletion begins", "updated", kept, going],
  [false, "a new status of a protected object", "updated", kept, { ...kept }],
  [false, "a new status of another object", "updated", open, { ...open }],
  [true, "a protected object that is gone", "deleted", undefined, kept],
  [true, "a protected object that is gone at once", "deleted", kept, going],
  [false, "an object that is gone after its deletion began", "deleted", going, going],
])(
  "it is %s that the label of the Namespace is looked at for %s",
  (expected, _what, type, previous, object) => {
    expect(changesProtection({ type, object, previous })).toBe(expected);
  },
);
