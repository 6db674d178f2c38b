import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { type Liveness, watchEventLoop } from "./liveness.ts";

const WINDOW_MS = 500;

/** Turns of the loop that last 60 ms each, until the condition holds. */
async function crawlUntil(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20 * WINDOW_MS;
  while (!condition() && performance.now() < deadline) {
    const end = performance.now() + 60;
    while (performance.now() < end);
    await nextTurn();
  }
}

test("a loop that crawls is not alive, and is again once it turns freely", async () => {
  const liveness: Liveness = watchEventLoop({ windowMs: WINDOW_MS, limitMs: 45 });
  expect(liveness.isAlive()).toBe(true);
  await crawlUntil(() => !liveness.isAlive());
  expect(liveness.isAlive()).toBe(false);
  await vi.waitFor(() => expect(liveness.isAlive()).toBe(true), { timeout: 20 * WINDOW_MS });
  liveness.stop();
});
