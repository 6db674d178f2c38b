import { expect, test } from "vitest";
import { KubeError } from "../../shared/kube/errors.ts";
import { toUnknownCheck, type UpgradeCheck } from "../../shared/tenant/upgrade/upgrade-check.ts";
import { createUpgradeChecker } from "./upgrade-checks.ts";

const KEY = "org/shop";
const UNKNOWN = toUnknownCheck({ kind: "APIResource", namespace: null, name: "nodes.v1" }, "no");
const BLOCKING: UpgradeCheck = { ...UNKNOWN, check: "version_skew", severity: "blocking" };
const refusal = new KubeError({ status: 0, reason: "ConnectionRefused", kubeMessage: "connection refused" });

/** A checker whose reads end one after another with these results, the last one again and again. */
function makeChecker(...results: (UpgradeCheck[] | Error)[]) {
  let nowMs = 0;
  const reads: string[] = [];
  const changes: (() => void)[] = [];
  const checker = createUpgradeChecker({
    read: async (_key, target) => {
      reads.push(target);
      const result = results.length > 1 ? results.shift() : results[0];
      if (result instanceof Error) throw result;
      return result ?? [];
    },
    onChange: () => changes.shift()?.(),
    now: () => new Date(nowMs),
    log: { warn: () => undefined },
  });
  const find = (target = "1.35.1", isEnforced = true) => checker.track(KEY, { target, isEnforced });
  /** Asks, which begins a read, and waits for its end. */
  const read = async (...request: Parameters<typeof find>) => {
    const changed = new Promise<void>((resolve) => changes.push(resolve));
    expect(find(...request)).toMatchObject({ requeueAfterMs: undefined });
    await changed;
    return find(...request);
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { reads, checker, find, read, pass };
}

test("checks are read once, and found until a minute has passed", async () => {
  const { read, find, pass, reads } = makeChecker([]);
  expect(await read()).toEqual({ checks: [], requeueAfterMs: 60_000 });
  pass(59_999);
  expect(find()).toEqual({ checks: [], requeueAfterMs: 1 });
  pass(1);
  expect(find()).toEqual({ checks: undefined, requeueAfterMs: undefined });
  await expect.poll(() => reads).toHaveLength(2);
});

test("what blocks is kept while it is read again each minute, until it is solved", async () => {
  const { read, find, pass } = makeChecker([BLOCKING, UNKNOWN], []);
  expect(await read()).toEqual({ checks: [BLOCKING, UNKNOWN], requeueAfterMs: 60_000 });
  pass(60_000);
  const solved = read();
  expect(find()).toEqual({ checks: [BLOCKING, UNKNOWN], requeueAfterMs: undefined });
  expect(await solved).toEqual({ checks: [], requeueAfterMs: 60_000 });
});

test.each<[string, Error, RegExp]>([
  ["an API server that refuses", refusal, /could not be read: connection refused/],
  ["a credential that cannot be used", new Error("no key"), /could not be connected to/],
])(
  "%s is tried for a minute where checks are enforced, and is a warning then",
  async (_name, error, message) => {
    const { read, find, pass, reads } = makeChecker(error);
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 5_000) {
      expect(await read()).toEqual({ checks: undefined, requeueAfterMs: 5_000 });
      pass(5_000);
    }
    const { checks } = find();
    expect(checks).toEqual([
      expect.objectContaining({
        check: "unknown",
        severity: "warning",
        message: expect.stringMatching(message),
      }),
    ]);
    expect(reads).toHaveLength(12);
  },
);

test("where checks only warn, what cannot be read is a warning at once", async () => {
  const { read } = makeChecker(refusal);
  const { checks } = await read("1.35.1", false);
  expect(checks).toEqual([expect.objectContaining({ check: "unknown" })]);
});

test("another version, and a cluster that was forgotten, is read anew", async () => {
  const { read, find, checker, reads } = makeChecker([BLOCKING]);
  await read("1.35.1");
  expect(find("1.35.2").checks).toBeUndefined();
  checker.forget(KEY);
  await read("1.35.1");
  expect(reads).toEqual(["1.35.1", "1.35.2", "1.35.1"]);
});
