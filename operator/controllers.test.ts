import { expect, test } from "vitest";
import { createController } from "../shared/controller/controller.ts";
import { SOLE_LEADER } from "../shared/controller/lease.ts";
import { createLogger } from "../shared/program/log.ts";
import { PATIENT } from "../shared/program/testing-deadlines.ts";
import { joinControllers } from "./controllers.ts";

/** A controller with a run that never ends. */
function startStuck() {
  const controller = createController({
    name: "stuck",
    reconcile: () => new Promise(() => undefined),
    leadership: SOLE_LEADER,
    stuckAfterMs: 0,
    log: createLogger({ name: "test", level: "silent" }),
  });
  controller.add("n/a");
  controller.start();
  return controller;
}

test("the operator is unhealthy when a run on the platform is stuck, never because of a tenant", async () => {
  const stuck = startStuck();
  await expect.poll(() => stuck.healthy(), PATIENT).toBe(false);
  expect(joinControllers([stuck], [], () => undefined).healthy()).toBe(false);
  expect(joinControllers([], [stuck], () => undefined).healthy()).toBe(true);
  await stuck.drain(0);
});
