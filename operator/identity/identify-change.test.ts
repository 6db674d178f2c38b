import { expect, test } from "vitest";
import { aPool } from "../node-pool/testing.ts";

test("the same text about a later change is another Event, and about the same change it is the same", () => {
  const ready = aPool().withNodes(2).reconciled();
  const scaled = ready.withSpec({ desiredNodes: 3 }).reconciled();
  const back = scaled.withSpec({ desiredNodes: 2 }).after(10);
  const eventsOf = (pool: typeof back) => pool.withNodes(2).plan().events;
  const [first] = aPool().withNodes(2).plan().events;
  const [again] = eventsOf(back);
  expect(again?.note).toBe(first?.note);
  expect(again?.dedupeKey).not.toBe(first?.dedupeKey);
  expect(eventsOf(back)).toEqual(eventsOf(back));
});
