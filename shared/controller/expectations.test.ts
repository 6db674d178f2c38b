import { expect, test } from "vitest";
import { createExpectations } from "./controller.ts";

test("a key waits until each cache has shown what was written, and no longer than 10 s after the last write", () => {
  let now = 0;
  const seen = new Set<string>();
  const cacheOf = (name: string) => ({ hasSeen: (version: string) => seen.has(name + version) });
  const [pools, clusters] = [cacheOf("pool"), cacheOf("cluster")];
  const expectations = createExpectations(() => now);
  expectations.expect("a", pools, "1");
  expectations.expect("a", clusters, "2");
  seen.add("pool1");
  expect([expectations.isMet("a"), expectations.isMet("b")]).toEqual([false, true]);
  seen.add("cluster2");
  expect(expectations.isMet("a")).toBe(true);

  expectations.expect("a", pools, "3");
  now = 6000;
  expectations.expect("a", pools, "4");
  now = 15_999;
  expect(expectations.isMet("a")).toBe(false);
  now = 16_000;
  expect(expectations.isMet("a")).toBe(true);
});
