import { expect, test } from "vitest";
import { createReadiness } from "./readiness.ts";

test("a check that is false, fails or does not respond within two seconds is a fault; all run at once", async () => {
  const readiness = createReadiness();
  const never = () => new Promise<boolean>(() => undefined);
  readiness.add({ name: "well", check: () => true });
  readiness.add({ name: "unwell", check: async () => false });
  readiness.add({ name: "failing", check: () => Promise.reject(new Error("refused")) });
  readiness.add({ name: "hanging", check: never });
  readiness.add({ name: "hanging too", check: never });
  const startedMs = performance.now();
  expect(await readiness.findFaults()).toEqual(["unwell", "failing", "hanging", "hanging too"]);
  expect(performance.now() - startedMs).toBeLessThan(3900);
});
