import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { estimateBuildSeconds, readBuildTimes, recordBuildTime, slownessOf } from "./build-times.ts";

function openFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "marina-times-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test.each([
  { title: "the machine of the table", calibrationMs: 60, cores: 2, expected: 1 },
  { title: "half as fast a core", calibrationMs: 120, cores: 2, expected: 2 },
  { title: "one core", calibrationMs: 60, cores: 1, expected: 1.75 },
  { title: "eight cores, of which linking uses one", calibrationMs: 60, cores: 8, expected: 0.4375 },
])("the slowness of $title is $expected", ({ calibrationMs, cores, expected }) => {
  expect(slownessOf({ calibrationMs, cores })).toBeCloseTo(expected, 4);
});

test("a build is expected to take what it took last here, else what the machine's speed lets expect", () => {
  expect(estimateBuildSeconds("kwok", { kwok: 12.5 }, 3)).toBe(12.5);
  const table = estimateBuildSeconds("kwok", {}, 1);
  expect(table).toBeGreaterThan(0);
  expect(estimateBuildSeconds("kwok", {}, 3)).toBe(3 * table);
  expect(estimateBuildSeconds("new-program", {}, 1)).toBeGreaterThan(0);
});

test("recorded times are read again; a file that is not there or damaged counts as empty", () => {
  const dir = openFolder();
  expect(readBuildTimes(dir)).toEqual({});
  recordBuildTime(dir, "etcd", 20.04);
  recordBuildTime(dir, "kwok", 9);
  recordBuildTime(dir, "etcd", 18);
  expect(readBuildTimes(dir)).toEqual({ etcd: 18, kwok: 9 });
  writeFileSync(join(dir, "build-times.json"), '{"etcd": ');
  expect(readBuildTimes(dir)).toEqual({});
});
