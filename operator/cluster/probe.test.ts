import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { INFRASTRUCTURE_LOST } from "../../shared/crd/conditions.ts";
import { createProber, isShownReachable, type ProbeResult, probeEndpoint } from "./probe.ts";

const target = { url: "https://a.test:6443", ca: "ca" };
const good: ProbeResult = { ok: true, message: "" };
const bad: ProbeResult = { ok: false, message: "ECONNREFUSED" };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A prober whose probes return these results in turn; the last one stays. */
function probing(...results: ProbeResult[]) {
  return probingBy(() => 0, ...results);
}

function probingBy(random: () => number, ...results: ProbeResult[]) {
  const probedAt: number[] = [];
  const changes: string[] = [];
  const prober = createProber({
    probe: async () => {
      probedAt.push(Date.now());
      return (results.length > 1 ? results.shift() : results[0]) ?? good;
    },
    isKnownReachable: (key) => key.startsWith("reachable"),
    onChange: (key) => changes.push(key),
    random,
  });
  return { prober, probedAt, changes, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

test("a result is reported as a change, and refreshed every 20 s without further changes", async () => {
  const { prober, probedAt, changes, pass } = probing(good);
  expect(prober.track("k", target)).toBeUndefined();
  await pass(60_000);
  expect(prober.track("k", target)).toEqual(good);
  expect(changes).toEqual(["k"]);
  expect(probedAt).toHaveLength(4);
});

test("an unreachable endpoint is probed again after 1, 2, 4 s, and its first response is a change", async () => {
  const { prober, probedAt, changes, pass } = probing(bad, bad, bad, good);
  prober.track("k", target);
  await pass(7_000);
  expect(probedAt.map((at) => at - (probedAt[0] ?? 0))).toEqual([0, 1_000, 3_000, 7_000]);
  expect(changes).toEqual(["k", "k"]);
});

test("a large reachable fleet is probed at most 50 times a second, from the first second on", async () => {
  let drawn = 0;
  const { prober, probedAt, pass } = probingBy(() => (drawn++ % 100) / 100, good);
  for (let count = 0; count < 5_000; count++) prober.track(`reachable ${count}`, target);
  for (let second = 1; second <= 200; second++) {
    await pass(1_000);
    expect(probedAt.length).toBeLessThanOrEqual(50 * second);
  }
  expect(probedAt.length).toBeGreaterThan(5_000);
});

test("in a small fleet a reachable endpoint is soon probed again, any other at once", async () => {
  const { prober, probedAt, pass } = probing(good);
  prober.track("reachable", target);
  expect(probedAt).toHaveLength(0);
  prober.track("k", target);
  expect(probedAt).toHaveLength(1);
  await pass(100);
  expect(probedAt).toHaveLength(2);
});

test.each<[string, ProbeResult, ProbeResult, number]>([
  ["no change", good, good, 0],
  ["no change until it fails", good, bad, 1],
  ["a change, and its recovery another", bad, good, 2],
])("the first result of an endpoint that was reachable is %s", async (_, first, next, expected) => {
  const { prober, changes, pass } = probing(first, next);
  prober.track("reachable", target);
  await pass(25_000);
  expect(changes).toHaveLength(expected);
});

test.each([
  ["one that responded is", "True", "Available", true],
  ["one that did not is not", "False", "EndpointUnreachable", false],
  ["that of a lost cluster is not: its return waits for it", "True", INFRASTRUCTURE_LOST, false],
])("of the endpoints in a status %s known as reachable", (_, status, reason, isKnown) => {
  const conditions = [
    { type: "EndpointReachable", status },
    { type: "Ready", reason },
  ];
  expect(isShownReachable({ conditions } as never)).toBe(isKnown);
});

test("a changed endpoint is probed again", async () => {
  const { prober, pass } = probing(good);
  prober.track("k", target);
  await pass(0);
  expect(prober.track("k", { ...target, url: "https://b.test:6443" })).toBeUndefined();
});

test("a forgotten endpoint is no longer probed", async () => {
  const { prober, probedAt, pass } = probing(good);
  prober.track("k", target);
  await pass(0);
  prober.forget("k");
  await pass(120_000);
  expect(probedAt).toHaveLength(1);
});

test("an endpoint without a listener is reported as such", async () => {
  vi.useRealTimers();
  const result = await probeEndpoint({ url: "https://127.0.0.1:1", ca: "" }, 60_000);
  expect(result).toEqual({ ok: false, message: "ECONNREFUSED" });
});
