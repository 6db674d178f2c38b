import { expect, test, vi } from "vitest";
import { createLogger } from "../program/log.ts";
import { SOLE_LEADER } from "./lease.ts";

const KEYS = 50;
const RUN_MS = 2;

test("runs that never wait yield to the rest of the process", async () => {
  // Read again: tests with their own clock have left a slice that ends at a time of that clock.
  vi.resetModules();
  const { createController } = await import("./controller.ts");
  let runs = 0;
  const controller = createController({
    name: "busy",
    async reconcile() {
      const until = performance.now() + RUN_MS;
      while (performance.now() < until);
      runs += 1;
      return undefined;
    },
    leadership: SOLE_LEADER,
    log: createLogger({ name: "test", level: "silent" }),
  });
  for (let index = 0; index < KEYS; index++) controller.add(`n/${index}`);
  controller.start();
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(runs).toBeLessThan(KEYS);
  expect(await controller.drain(20_000)).toBe(true);
});
