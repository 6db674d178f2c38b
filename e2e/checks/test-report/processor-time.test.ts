import { describe, expect, test } from "vitest";
import { createProcessorTimes, type ProcessSample } from "./processor-time.ts";

const ROOT = 10;
const sample = (pid: number, parent: number, kind: string, own: number, ended = 0): ProcessSample => ({
  pid,
  parent,
  startTime: String(pid),
  kind,
  own,
  ended,
});

describe("processor time by kind", () => {
  test("counts descendants only, and the root from the first round on", () => {
    const times = createProcessorTimes(ROOT);
    times.add([sample(1, 0, "init", 900), sample(ROOT, 1, "runner", 100), sample(11, ROOT, "worker", 50)]);
    times.add([sample(1, 0, "init", 999), sample(ROOT, 1, "runner", 300), sample(11, ROOT, "worker", 450)]);
    expect(times.seconds()).toEqual([
      ["worker", 4.5],
      ["runner", 2],
    ]);
  });

  test("keeps a process that has ended, and does not count it again as a child of its parent", () => {
    const times = createProcessorTimes(ROOT);
    times.add([sample(ROOT, 1, "runner", 0), sample(11, ROOT, "build", 500)]);
    times.add([sample(ROOT, 1, "runner", 0, 500)]);
    expect(times.seconds()).toEqual([["build", 5]]);
  });

  test("counts children that no round has met with their parent", () => {
    const times = createProcessorTimes(ROOT);
    times.add([sample(ROOT, 1, "runner", 0), sample(11, ROOT, "worker", 100)]);
    times.add([sample(ROOT, 1, "runner", 0), sample(11, ROOT, "worker", 100, 700)]);
    expect(times.seconds()).toEqual([
      ["short children of worker", 7],
      ["worker", 1],
    ]);
  });

  test("counts a process once that ends right before its parent", () => {
    const times = createProcessorTimes(ROOT);
    const server = sample(12, 11, "server", 500);
    times.add([sample(ROOT, 1, "runner", 0), sample(11, ROOT, "worker", 100), server]);
    times.add([sample(ROOT, 1, "runner", 0, 600)]);
    expect(times.seconds()).toEqual([
      ["server", 5],
      ["worker", 1],
    ]);
  });

  test("follows a process whose parent has ended", () => {
    const times = createProcessorTimes(ROOT);
    times.add([sample(ROOT, 1, "runner", 0), sample(11, ROOT, "provider", 0), sample(12, 11, "tenant", 10)]);
    times.add([sample(ROOT, 1, "runner", 0), sample(12, 1, "tenant", 200)]);
    expect(times.seconds()).toEqual([["tenant", 2]]);
  });

  test("keeps the kind of a process that has ended and is not yet waited for", () => {
    const times = createProcessorTimes(ROOT);
    times.add([sample(ROOT, 1, "runner", 0), sample(11, ROOT, "git", 10)]);
    times.add([sample(ROOT, 1, "runner", 0), sample(11, ROOT, "unknown", 20)]);
    expect(times.seconds()).toEqual([["git", 0.2]]);
  });
});
