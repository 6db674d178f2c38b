import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLogger } from "../../../shared/program/log.ts";
import { readStartTime } from "../programs/process-identity.ts";
import { rotateLog } from "./log-rotation.ts";
import { backoffMs, hashOfSpec, openProcesses, type Processes, type ProgramSpec } from "./processes.ts";

const log = createLogger({ name: "test", level: "silent" });
let folder: string;
let processes: Processes;
const exits: string[] = [];

const open = (): Processes =>
  openProcesses({ recordsDir: join(folder, "processes"), onExit: (name) => exits.push(name), log });

function specOf(script: string): ProgramSpec {
  return {
    command: process.execPath,
    args: ["-e", script],
    env: {},
    log: join(folder, "log"),
    version: "v1.34.2",
  };
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "processes-"));
  exits.length = 0;
  processes = open();
});

afterEach(async () => {
  processes.close();
  await processes.stopAll();
  rmSync(folder, { recursive: true, force: true });
});

test("a program survives the provider that started it, and is found again by its pid and start time", async () => {
  const spec = specOf("setInterval(() => {}, 1000)");
  processes.start("org.one.kwok", spec);
  const { pid } = processes.get("org.one.kwok") ?? {};
  processes.close();
  processes = open();
  expect(processes.get("org.one.kwok")).toMatchObject({
    pid,
    running: true,
    version: "v1.34.2",
    specHash: hashOfSpec(spec),
  });
  await processes.stop("org.one.kwok");
  expect(readdirSync(join(folder, "processes"))).toEqual([]);
  // Ended, though its parent may not have waited for it yet.
  expect(readStartTime(pid ?? 0)).toBeUndefined();
});

test("a later start has a higher number, also under the next provider", () => {
  const spec = specOf("setInterval(() => {}, 1000)");
  processes.start("org.one.kube-apiserver", spec);
  processes.start("org.one.kwok", spec);
  processes.close();
  processes = open();
  processes.start("org.one.kube-scheduler", spec);
  const numbers = ["kube-apiserver", "kwok", "kube-scheduler"].map(
    (program) => processes.get(`org.one.${program}`)?.startNumber,
  );
  expect(numbers).toEqual([1, 2, 3]);
});

test("a record whose pid belongs to another process is ignored", () => {
  const record = { pid: process.pid, startTime: "another", specHash: "x", version: "v1", logFile: "" };
  writeFileSync(join(folder, "processes", "tenant~org.one.kwok.json"), JSON.stringify(record));
  processes.close();
  processes = open();
  expect(processes.get("org.one.kwok")).toBeUndefined();
});

test("a program that cannot be run counts as failed, with the reason in its log", async () => {
  processes.start("org.one.kwok", { ...specOf(""), command: join(folder, "absent") });
  expect(processes.get("org.one.kwok")).toMatchObject({ running: false, failures: 1 });
  expect(exits).toEqual(["org.one.kwok"]);
  await expect.poll(() => readFileSync(join(folder, "log"), "utf8")).toContain("ENOENT");
});

test.each([
  [0, 0],
  [1, 1000],
  [2, 2000],
  [5, 16_000],
  [6, 30_000],
  [60, 30_000],
])("after %i failures in a row a program waits %i ms", (failures, ms) => {
  expect(backoffMs(failures)).toBe(ms);
});

test("a log over the limit is rotated, and its program keeps writing", () => {
  const file = join(folder, "program.log");
  writeFileSync(file, "0123456789");
  rotateLog(file, 10);
  expect(readFileSync(file, "utf8")).toBe("0123456789");
  writeFileSync(file, "a", { flag: "a" });
  rotateLog(file, 10);
  expect([readFileSync(file, "utf8"), readFileSync(`${file}.1`, "utf8")]).toEqual(["", "0123456789a"]);
});
