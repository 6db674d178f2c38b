import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KubeError, type KubeErrorFields } from "../kube/errors.ts";
import { createLogger } from "../program/log.ts";
import {
  type Controller,
  type ControllerOptions,
  createController,
  type ReconcileResult,
} from "./controller.ts";
import { type Leadership, SOLE_LEADER } from "./lease.ts";
import { PRIORITY_BACKGROUND } from "./queue.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
let running: Controller[] = [];
afterEach(async () => {
  for (const controller of running) void controller.drain(0);
  running = [];
  await vi.advanceTimersByTimeAsync(1);
  vi.useRealTimers();
});

type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult>;

function control(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const run = vi.fn<Reconcile>(reconcile);
  const controller = createController({
    name: "thing",
    reconcile: run,
    leadership: SOLE_LEADER,
    log: createLogger({ name: "test", level: "silent" }),
    ...options,
  });
  running.push(controller);
  const keys = () => run.mock.calls.map(([key]) => key);
  return { controller, keys };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const nothing = async () => undefined;

test("keys added before the start are run after it", async () => {
  const { controller, keys } = control(nothing);
  controller.add("n/a");
  await pass(1_000);
  expect(keys()).toEqual([]);
  controller.start();
  await pass(1);
  expect(keys()).toEqual(["n/a"]);
});

test("a failure is retried with backoff, a success ends it", async () => {
  let failures = 3;
  const { controller, keys } = control(async () => {
    if (failures-- > 0) throw new Error("not now");
    return undefined;
  });
  controller.start();
  controller.add("a");
  await pass(5 + 10 + 20);
  expect(keys()).toHaveLength(4);
  await pass(60_000);
  expect(keys()).toHaveLength(4);
});

test("requeueAfterMs runs the key again then, and not before", async () => {
  let first = true;
  const { controller, keys } = control(async () => {
    const result = first ? { requeueAfterMs: 5_000 } : undefined;
    first = false;
    return result;
  });
  controller.start();
  controller.add("a");
  await pass(4_999);
  expect(keys()).toHaveLength(1);
  await pass(1);
  expect(keys()).toHaveLength(2);
});

test("no key runs while this process does not lead; those gathered run when it does", async () => {
  let leads = false;
  const waiting: (() => void)[] = [];
  const leadership: Leadership = {
    isLeader: () => leads,
    untilLeader: async () => {
      if (!leads) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
  const { controller, keys } = control(nothing, { leadership });
  controller.start();
  controller.add("a");
  await pass(10_000);
  expect(keys()).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  leads = true;
  for (const resolve of waiting) resolve();
  await pass(1);
  expect(keys()).toEqual(["a"]);
  leads = false;
  controller.add("b");
  await pass(10_000);
  expect(keys()).toEqual(["a"]);
});

test("a key is not run again before the cache shows its own last write", async () => {
  let seen = false;
  const cache = { hasSeen: () => seen };
  const { controller, keys } = control(nothing);
  controller.expect("a", cache, "5");
  controller.start();
  controller.add("a");
  controller.add("b");
  await pass(1_000);
  expect(keys()).toEqual(["b"]);
  seen = true;
  await pass(100);
  expect(keys()).toEqual(["b", "a"]);
});

test("a cache that never shows the write delays the key by 10 s at most", async () => {
  const { controller, keys } = control(nothing);
  controller.expect("a", { hasSeen: () => false }, "5");
  controller.start();
  controller.add("a");
  await pass(9_900);
  expect(keys()).toEqual([]);
  await pass(300);
  expect(keys()).toEqual(["a"]);
});

test("workers run different keys at once, and one key one at a time", async () => {
  const active = new Set<string>();
  let most = 0;
  const { controller, keys } = control(
    async (key) => {
      expect(active.has(key)).toBe(false);
      active.add(key);
      most = Math.max(most, active.size);
      await new Promise((resolve) => setTimeout(resolve, 100));
      active.delete(key);
      return undefined;
    },
    { workers: 2 },
  );
  controller.start();
  for (const key of ["a", "b", "c"]) controller.add(key);
  await pass(50);
  controller.add("a");
  await pass(1_000);
  expect(most).toBe(2);
  expect(keys().toSorted()).toEqual(["a", "a", "b", "c"]);
});

test("keys of one namespace that never end delay none of another, and are as many as allowed", async () => {
  const { controller, keys } = control(
    (key) => (key.startsWith("slow/") ? new Promise(() => undefined) : Promise.resolve(undefined)),
    { workers: 4, maxPerNamespace: 2 },
  );
  controller.start();
  for (let count = 0; count < 61; count++) controller.add(`slow/${count}`);
  await pass(1);
  controller.add("other/a");
  controller.add("other/b");
  await pass(1);
  expect(keys()).toEqual(["slow/0", "slow/1", "other/a", "other/b"]);
});

test("a resync runs all keys every 10 minutes, behind what is new", async () => {
  const { controller, keys } = control(nothing, { resyncKeys: () => ["x", "y"], workers: 1 });
  controller.start();
  await pass(8.9 * 60_000);
  expect(keys()).toEqual([]);
  await pass(2.2 * 60_000);
  expect(keys()).toEqual(["x", "y"]);
  controller.add("z", { priority: PRIORITY_BACKGROUND });
  await pass(1);
  expect(keys()).toEqual(["x", "y", "z"]);
});

test("a drain lets running keys finish and starts no other", async () => {
  const { controller, keys } = control(
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return undefined;
    },
    { workers: 1 },
  );
  controller.start();
  controller.add("a");
  controller.add("b");
  await pass(1);
  const drained = controller.drain(1_000);
  await pass(500);
  expect(await drained).toBe(true);
  expect(keys()).toEqual(["a"]);
});

test("a drain ends at its deadline and aborts the run through its signal", async () => {
  const given: AbortSignal[] = [];
  const { controller } = control((_key, signal) => {
    given.push(signal);
    return new Promise(() => undefined);
  });
  controller.start();
  controller.add("a");
  await pass(1);
  const drained = controller.drain(1_000);
  await pass(1_000);
  expect(await drained).toBe(false);
  expect(given[0]?.aborted).toBe(true);
});

test("a run longer than stuckAfterMs makes the controller unhealthy", async () => {
  const { controller } = control(() => new Promise(() => undefined), { stuckAfterMs: 60_000 });
  controller.start();
  controller.add("a");
  await pass(59_000);
  expect(controller.healthy()).toBe(true);
  await pass(2_000);
  expect(controller.healthy()).toBe(false);
});

test("results and durations are reported", async () => {
  const results: [string, number][] = [];
  const { controller } = control(
    async (key) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (key === "bad") throw new Error("bad");
      return key === "wait" ? { requeueAfterMs: 60_000 } : undefined;
    },
    {
      metrics: {
        onDepth: () => undefined,
        onWait: () => undefined,
        onActive: () => undefined,
        onReconcile: (_name, result, seconds) => results.push([result, seconds]),
      },
    },
  );
  controller.start();
  for (const key of ["good", "wait", "bad"]) controller.add(key);
  await pass(101);
  expect(results).toEqual([
    ["success", 0.1],
    ["requeue", 0.1],
    ["error", 0.1],
  ]);
});

const refusal = (fields: Partial<KubeErrorFields>) =>
  new KubeError({ status: 403, reason: "Forbidden", kubeMessage: "refused", ...fields });

test.each<[string, "info" | "error", Error]>([
  ["an outdated write", "info", refusal({ status: 409, reason: "Conflict" })],
  [
    "a write into a namespace that is being deleted",
    "info",
    refusal({ details: { causes: [{ reason: "NamespaceTerminating" }] } }),
  ],
  ["any other refusal", "error", refusal({})],
])("%s is logged as %s", async (_, level, error) => {
  const log = createLogger({ name: "test", level: "silent" });
  const write = vi.spyOn(log, level);
  const { controller } = control(() => Promise.reject(error), { log });
  controller.start();
  controller.add("n/a");
  await pass(1);
  expect(write).toHaveBeenCalledWith(expect.objectContaining({ key: "n/a", err: error }), expect.any(String));
});
