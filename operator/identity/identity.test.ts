import { expect, test } from "vitest";
import { createStore } from "../../shared/kube/store.ts";
import { INDEX_ID } from "../indexes.ts";
import { makePool } from "../testing.ts";
import { findOlderDuplicate, indexById } from "./identity.ts";

test("of two objects with one id the younger has an older duplicate", () => {
  const pools = createStore({ [INDEX_ID]: indexById });
  const [old, young] = [
    makePool("old", {}, { creationTimestamp: "2026-01-01T00:00:00Z" }),
    makePool("young", {}, { creationTimestamp: "2026-01-02T00:00:00Z" }),
  ];
  pools.set(old);
  pools.set(young);
  expect(findOlderDuplicate(pools, old)).toBeUndefined();
  expect(findOlderDuplicate(pools, young)).toBe(`${old.metadata.namespace}/old`);
});
