import { expect, test } from "vitest";
import type { Protectable } from "../../../shared/crd/fields.ts";
import type { Change } from "../../../shared/kube/reflector.ts";
import { changesProtection } from "./protection-changes.ts";

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
  "it is %s that the mark of the Namespace is looked at for %s",
  (expected, _what, type, previous, object) => {
    expect(changesProtection({ type, object, previous })).toBe(expected);
  },
);
