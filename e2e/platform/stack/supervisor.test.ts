import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { identifyProcess, isRunning } from "../programs/process-identity.ts";
import type { ProcessSpec } from "./process-part.ts";
import { createSupervisor, endLeftovers, type Node, type Supervisor } from "./supervisor.ts";

/** For what takes a moment on a machine that is not busy. */
const DEADLINE_MS = 100_000;
const SOON = { timeout: DEADLINE_MS };

let dir: string;
let crashes: string[];
let supervisor: Supervisor;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "marina-supervisor-"));
  crashes = [];
  supervisor = createSupervisor({ dir, onCrash: (_part, message) => crashes.push(message) });
});

afterEach(async () => {
  await supervisor.stop();
  rmSync(dir, { recursive: true });
});

const stopLog = () => readFileSync(join(dir, "stopped"), "utf8").trim().split("\n");

/** A program that creates a file when it is ready, and appends its name to a file on SIGTERM. */
function program(name: string, after: string[] = [], extra: Partial<ProcessSpec> = {}, body = ""): Node {
  const mark = JSON.stringify(join(dir, name));
  const stopped = JSON.stringify(join(dir, "stopped"));
  const script = `const fs = require("fs");
    process.on("SIGTERM", () => { fs.appendFileSync(${stopped}, "${name}\\n"); process.exit(0); });
    setInterval(() => {}, 1000); ${body};
    fs.writeFileSync(${mark} + ".part", JSON.stringify(process.env)); fs.renameSync(${mark} + ".part", ${mark});`;
  return {
    name,
    after,
    process: () => ({
      command: process.execPath,
      args: ["-e", script],
      probe: async () => {
        if (!existsSync(join(dir, name))) throw new Error("not there yet");
      },
      deadlineMs: DEADLINE_MS,
      stopTimeoutMs: DEADLINE_MS,
      ...extra,
    }),
  };
}

test("parts start after what they depend on and stop in reverse, with steps between them", async () => {
  const order: string[] = [];
  await supervisor.start([
    program("api", ["fill"]),
    {
      name: "fill",
      after: ["database"],
      run: async () => void order.push(...supervisor.parts().map((p) => p.name)),
    },
    program("database"),
  ]);
  expect(order).toEqual(["database"]);
  const pids = supervisor.parts().map((part) => part.pid);
  await supervisor.stop();
  expect(stopLog()).toEqual(["api", "database"]);
  expect(pids.filter((pid) => identifyProcess(pid) !== undefined)).toEqual([]);
});

test("parts that join come after what runs already and after one another, and stop before it", async () => {
  await supervisor.start([program("database")]);
  await supervisor.join([program("operator", ["capi"]), program("capi", ["database"])]);
  expect(supervisor.parts().map(({ name }) => name)).toEqual(["database", "capi", "operator"]);
  await supervisor.stop();
  expect(stopLog()).toEqual(["operator", "capi", "database"]);
});

test("a part that cannot join fails alone: what runs goes on, and what waits for it does not start", async () => {
  await supervisor.start([program("database")]);
  const failing: Node = { name: "class", after: [], run: () => Promise.reject(new Error("refused")) };
  await expect(supervisor.join([failing, program("operator", ["class"])])).rejects.toThrow(
    "class failed: refused",
  );
  expect(supervisor.parts().map(({ name }) => name)).toEqual(["database"]);
  expect(supervisor.part("database").pid).toBeGreaterThan(0);
});

test("a part that ends by itself is reported with the end of its log", async () => {
  await supervisor.start([
    program("steady"),
    program(
      "fragile",
      ["steady"],
      {},
      `process.on("SIGUSR2", () => { console.error("out of luck"); process.exit(3); })`,
    ),
  ]);
  process.kill(supervisor.part("fragile").pid, "SIGUSR2");
  await supervisor.part("fragile").exited;
  expect(crashes).toEqual([expect.stringMatching(/^fragile ended by itself \(code 3\)[\s\S]*out of luck$/)]);
  expect(supervisor.part("steady").pid).toBeGreaterThan(0);
});

test("a part that restarts is started again when it exits by itself, and reported when a signal ends it", async () => {
  const exitOnSignal = `process.on("SIGUSR2", () => process.exit(1)); console.log("started")`;
  await supervisor.start([program("standby", [], { restarts: true }, exitOnSignal)]);
  const part = supervisor.part("standby");
  const first = part.pid;
  process.kill(first, "SIGUSR2");
  await vi.waitFor(() => expect([0, first]).not.toContain(part.pid), SOON);
  expect(crashes).toEqual([]);
  const readLog = () => readFileSync(part.log, "utf8");
  await vi.waitFor(() => expect(readLog()).toBe("started\nstarted\n"), SOON);
  process.kill(part.pid, "SIGKILL");
  await vi.waitFor(() => expect(crashes).toHaveLength(1), SOON);
});

test("a part that is killed on purpose is not a crash, and can be restarted", async () => {
  await supervisor.start([program("database")]);
  const part = supervisor.part("database");
  const { pid } = part;
  expect(await part.kill()).toEqual({ code: null, signal: "SIGKILL" });
  expect(part.pid).toBe(0);
  await part.start();
  expect(part.pid).not.toBe(pid);
  expect(crashes).toEqual([]);
});

test("a part that is not ready in time fails the start, and the other parts are stopped", async () => {
  const slow = program("slow", ["steady"], {
    deadlineMs: 2000,
    probe: async () => {
      throw new Error("still loading");
    },
  });
  await expect(supervisor.start([program("steady"), slow])).rejects.toThrow(
    /^slow was not ready after 2 s \(still loading\)/,
  );
  expect(supervisor.parts().map((part) => part.pid)).toEqual([0, 0]);
});

test("a part that ends before it is ready fails the start immediately, with the end of its log", async () => {
  const broken = program("broken", [], {}, `console.error("no such flag"); process.exit(2)`);
  await expect(supervisor.start([broken])).rejects.toThrow(/^broken ended \(code 2\)[\s\S]*no such flag/);
});

test("a part that ignores its stop signal is killed", async () => {
  const deaf = program(
    "deaf",
    [],
    { stopTimeoutMs: 100, stopSignal: "SIGUSR1" },
    `process.on("SIGUSR1", () => {})`,
  );
  await supervisor.start([deaf]);
  const { exited } = supervisor.part("deaf");
  await supervisor.stop();
  expect(await exited).toEqual({ code: null, signal: "SIGKILL" });
});

test("a failed step fails the start, and nothing that depends on it starts", async () => {
  const failing: Node = { name: "fill", after: [], run: () => Promise.reject(new Error("no room")) };
  await expect(supervisor.start([failing, program("api", ["fill"])])).rejects.toThrow(
    /^fill failed: no room$/,
  );
  expect(supervisor.parts()).toEqual([]);
});

test("programs get a clean environment: no proxy settings of the terminal reach them", async () => {
  process.env.HTTPS_PROXY = "http://proxy.example:3128";
  try {
    await supervisor.start([program("api", [], { env: { POD_IP: "127.0.0.1" } })]);
  } finally {
    delete process.env.HTTPS_PROXY;
  }
  const seen = JSON.parse(readFileSync(join(dir, "api"), "utf8"));
  expect(seen).toMatchObject({ POD_IP: "127.0.0.1" });
  expect(seen).not.toHaveProperty("HTTPS_PROXY");
});

test("programs end when the process of their supervisor exits without stopping them", async () => {
  const script = `
    import { createSupervisor } from ${JSON.stringify(join(import.meta.dirname, "supervisor.ts"))};
    const supervisor = createSupervisor({ dir: ${JSON.stringify(dir)}, onCrash() {} });
    const command = process.execPath;
    const args = ["-e", "setInterval(() => {}, 1000)"];
    await supervisor.start([
      { name: "left", after: [], process: () => ({ command, args, probe: async () => {} }) },
    ]);
    process.exit(130);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "inherit" });
  expect(await once(child, "exit")).toEqual([130, null]);
  const identity = JSON.parse(readFileSync(join(dir, "processes", "left.json"), "utf8"));
  await vi.waitFor(() => expect(isRunning(identity)).toBe(false), SOON);
});

test("leftovers of a killed supervisor are ended; another process with a recorded pid is not", async () => {
  await supervisor.start([program("left")]);
  const { pid, exited } = supervisor.part("left");
  const foreign = { pid: process.pid, startTime: "another time", stopSignal: "SIGTERM" };
  writeFileSync(join(dir, "processes", "foreign.json"), JSON.stringify(foreign));
  const identity = identifyProcess(pid);
  expect(await endLeftovers(dir)).toEqual(["left"]);
  await exited;
  expect(identity !== undefined && isRunning(identity)).toBe(false);
  expect(existsSync(join(dir, "processes", "foreign.json"))).toBe(false);
});
