import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { ROOT } from "../stack/marina.ts";
import { identifyProcess, isRunning, type ProcessIdentity } from "./process-identity.ts";

const started: ProcessIdentity[] = [];

afterEach(() => {
  for (const identity of started.splice(0).filter(isRunning)) process.kill(identity.pid, "SIGKILL");
});

/** A program that starts another in a process group of its own, and prints the pid of each once it is ready. */
const starting = (script: string, prepare = "") => `
  ${prepare}
  const { spawn } = await import("node:child_process");
  const script = ${JSON.stringify(script)};
  spawn(process.execPath, ["--input-type=module", "-e", script], { detached: true, stdio: ["ignore", "inherit", "inherit"] });
  setInterval(() => {}, 1000);
  console.log(process.pid);`;

const OBEDIENT = "setInterval(() => {}, 1000); console.log(process.pid);";
const STUBBORN = `process.on("SIGTERM", () => {}); ${OBEDIENT}`;
const INTERRUPT = JSON.stringify(join(import.meta.dirname, "interrupt.ts"));
const INTERRUPTED = `const { endProcessesOnInterrupt } = await import(${INTERRUPT}); endProcessesOnInterrupt();`;

test.each([
  ["SIGINT", 130, OBEDIENT],
  ["SIGTERM", 143, OBEDIENT],
  ["SIGHUP", 129, STUBBORN],
] as const)("%s ends what was started, and what that started (%d)", async (signal, code, script) => {
  const program = starting(starting(script), INTERRUPTED);
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const identity = identifyProcess(Number(line));
    if (identity !== undefined) started.push(identity);
    if (started.length === 3) break;
  }
  child.kill(signal);
  expect(await once(child, "exit")).toEqual([code, null]);
  expect(started.filter(isRunning)).toEqual([]);
});

test("every program that starts a stack of its own ends it on a signal", () => {
  const sources = globSync("e2e/**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"));
  const texts = sources.map((file) => [file, readFileSync(join(ROOT, file), "utf8")] as const);
  const starting = texts.filter(
    ([, text]) => /startStack\(/.test(text) && /^ *process\.exitCode = await main/m.test(text),
  );
  expect(starting.length).toBeGreaterThanOrEqual(3);
  const without = starting.filter(
    ([, text]) => !/^endProcessesOnInterrupt\(\);$|stopOnSignals\(\)/m.test(text),
  );
  expect(without.map(([file]) => file)).toEqual([]);
});
