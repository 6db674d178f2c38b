import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createProber, type ProbeResult, probeEndpoint } from "./probe.ts";

const target = { url: "https://a.test:6443", ca: "ca" };
const good: ProbeResult = { ok: true, message: "" };
const bad: ProbeResult = { ok: false, message: "ECONNREFUSED" };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A prober whose endpoint answers in turn; the last answer stays. */
function probing(...answers: ProbeResult[]) {
  return probingBy(() => 0, ...answers);
}

function probingBy(random: () => number, ...answers: ProbeResult[]) {
  const asked: number[] = [];
  const changes: string[] = [];
  const prober = createProber({
    probe: async () => {
      asked.push(Date.now());
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? good;
    },
    onChange: (key) => changes.push(key),
    random,
  });
  return { prober, asked, changes, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

test("a result comes as a change, and is kept fresh every 20 s without further ones", async () => {
  const { prober, asked, changes, pass } = probing(good);
  expect(prober.watch("k", target)).toBeUndefined();
  await pass(60_000);
  expect(prober.watch("k", target)).toEqual(good);
  expect(changes).toEqual(["k"]);
  expect(asked).toHaveLength(4);
});

test("a silent endpoint is asked again after 1, 2, 4 s, and its first answer is a change", async () => {
  const { prober, asked, changes, pass } = probing(bad, bad, bad, good);
  prober.watch("k", target);
  await pass(7_000);
  expect(asked.map((at) => at - (asked[0] ?? 0))).toEqual([0, 1_000, 3_000, 7_000]);
  expect(changes).toEqual(["k", "k"]);
});

test("a large fleet that had answered is asked at most 50 times a second, from the first second on", async () => {
  let drawn = 0;
  const { prober, asked, pass } = probingBy(() => (drawn++ % 100) / 100, good);
  for (let count = 0; count < 5_000; count++) prober.watch(`k${count}`, target, true);
  for (let second = 1; second <= 200; second++) {
    await pass(1_000);
    expect(asked.length).toBeLessThanOrEqual(50 * second);
  }
  expect(asked.length).toBeGreaterThan(5_000);
});

test("one that had answered before is soon asked again in a small fleet; one that had not, at once", async () => {
  const { prober, asked, pass } = probing(good);
  prober.watch("had", target, true);
  expect(asked).toHaveLength(0);
  prober.watch("had-not", target);
  expect(asked).toHaveLength(1);
  await pass(100);
  expect(asked).toHaveLength(2);
});

test("an endpoint that moved is asked anew", async () => {
  const { prober, pass } = probing(good);
  prober.watch("k", target);
  await pass(0);
  expect(prober.watch("k", { ...target, url: "https://b.test:6443" })).toBeUndefined();
});

test("what is forgotten is asked no more", async () => {
  const { prober, asked, pass } = probing(good);
  prober.watch("k", target);
  await pass(0);
  prober.forget("k");
  await pass(120_000);
  expect(asked).toHaveLength(1);
});

test("an endpoint where nobody listens says so", async () => {
  vi.useRealTimers();
  const result = await probeEndpoint({ url: "https://127.0.0.1:1", ca: "" });
  expect(result).toEqual({ ok: false, message: "ECONNREFUSED" });
});
