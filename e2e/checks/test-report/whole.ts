import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buildBundles } from "../../../build.ts";
import { endProcessesOnInterrupt } from "../../platform/programs/interrupt.ts";
import { formatElapsed } from "../../platform/stack/progress.ts";
import { colourVariables } from "./colours.ts";
import { lastSeconds } from "./kept.ts";
import { type EndedStep, type StepResult, summarizeSteps } from "./step-result.ts";

interface Step {
  name: string;
  command: string;
  args: readonly string[];
}

const RUN_NAME = "whole";
const TAIL_LINES = 40;
const LINE_LENGTH = 500;

const vitest = (name: string, ...args: string[]): Step => ({
  name,
  command: "vitest",
  args: ["run", ...args],
});

/** Pods as processes need mount namespaces. */
const CAN_INSTALL = process.platform === "linux" && process.getuid?.() === 0;

/** The rest of the installations is `npm run test:install`. */
const RELEASE = vitest(
  "release",
  "--config=e2e/install/vitest.config.ts",
  "--project=stories",
  "--project=release",
);

const INOTIFY_LIMIT = "/proc/sys/fs/inotify/max_user_instances";
/** A kube-apiserver takes 5, a tenant 7, and Linux gives a user 128. */
const INSTANCES_PER_LANE = 128;

/**
 * `npm test` with the long tests, and suites that start separate stacks. The steps of a lane run one after another.
 * The faults and the fuzzing mostly wait: they are a parallel lane. A third lane made the whole slower (2,602 s, not
 * 2,303): a stack takes processor time for as long as it runs.
 */
const LANES: readonly (readonly Step[])[] = [
  [vitest("test"), ...(CAN_INSTALL ? [RELEASE] : [])],
  [
    vitest("faults", "--config", "e2e/faults/vitest.config.ts"),
    // In the lane of the faults: both need the port of the in-memory infrastructure, of which a machine has one.
    { name: "fuzz", command: "node", args: ["e2e/contract/fuzz/main.ts", "--cases", "25"] },
  ],
];

/**
 * Once all lanes have ended: the validator, which judges the invoices of both, and what a request costs, whose ratios say
 * nothing during other work. The bench reads processor time in /proc.
 */
const LAST: readonly Step[] = [
  vitest("invoices", "--config", "e2e/contract/invoices/vitest.config.ts"),
  ...(process.platform === "linux"
    ? [{ name: "bench", command: "node", args: ["e2e/bench/main.ts", "api", "--short"] }]
    : []),
];

async function runStep({ name, command, args }: Step, folder: string): Promise<EndedStep> {
  const startedAt = performance.now();
  const resultFile = join(folder, `${name}.json`);
  // Tests leave their invoices there, which the validator judges.
  const issued = join(folder, "issued");
  mkdirSync(issued, { recursive: true });
  const results = { MARINA_TEST_RESULT: resultFile, MARINA_ISSUED_DOCUMENTS: issued };
  const env = { ...process.env, ...colourVariables(process.stdout, process.env), ...results };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const tail: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      tail.push(line.slice(0, LINE_LENGTH));
      if (tail.length > TAIL_LINES) tail.shift();
      process.stdout.write(`${name.padEnd(8)} | ${line}\n`);
    });
  }
  // A command that cannot be started is a step that failed: the other lanes go on.
  const [code] = await once(child, "close").catch(() => [null]);
  const seconds = (performance.now() - startedAt) / 1000;
  return { name, seconds, exitCode: code ?? 1, result: readResult(resultFile), tail: tail.join("\n") };
}

function readResult(file: string): StepResult | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // It crashed before it could write one, which the summary counts as a failure.
    return undefined;
  }
}

/** The lanes, or fewer where the kernel does not let so many stacks run at once: the last ones follow the first. */
function chooseLanes(): readonly (readonly Step[])[] {
  const limit = existsSync(INOTIFY_LIMIT) ? Number(readFileSync(INOTIFY_LIMIT, "utf8")) : Infinity;
  const count = Math.max(1, Math.min(LANES.length, Math.floor(limit / INSTANCES_PER_LANE)));
  if (count === LANES.length) return LANES;
  console.log(
    `${count} of ${LANES.length} lanes: fs.inotify.max_user_instances is ${limit}, and ${LANES.length * INSTANCES_PER_LANE} are needed`,
  );
  const [first = [], ...others] = LANES;
  return [[...first, ...others.slice(count - 1).flat()], ...others.slice(0, count - 1)];
}

async function runLane(steps: readonly Step[], folder: string): Promise<EndedStep[]> {
  const ended: EndedStep[] = [];
  for (const step of steps) ended.push(await runStep(step, folder));
  return ended;
}

/** `npm run test:whole`. The last line is `N passed, N failed`; exits with 1 when anything failed. */
async function main(): Promise<number> {
  const startedAt = performance.now();
  const last = lastSeconds.read()[RUN_NAME];
  if (last !== undefined) console.log(`last time this took ${formatElapsed(last * 1000)}`);
  if (!CAN_INSTALL) console.log("release is left out: it needs Linux and root");
  // Once, for the lanes share them.
  await buildBundles();
  const folder = mkdtempSync(join(tmpdir(), "marina-tests-"));
  try {
    const lanes = await Promise.all(chooseLanes().map((steps) => runLane(steps, folder)));
    const ended = [...lanes.flat(), ...(await runLane(LAST, folder))];
    const { text, passed, failed } = summarizeSteps(ended);
    process.stdout.write(text);
    if (failed > 0 || passed === 0) return 1;
    lastSeconds.add({ [RUN_NAME]: Math.round((performance.now() - startedAt) / 1000) });
    return 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

endProcessesOnInterrupt();
process.exitCode = await main();
