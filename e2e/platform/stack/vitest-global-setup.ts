import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestProject } from "vitest/node";
import { createProgress } from "./progress.ts";
import { DEFAULT_PROVIDER } from "./provider.ts";
import { startStack } from "./stack.ts";
import type { StackInfo } from "./stack-info.ts";

const RUN_DIRS = join(import.meta.dirname, "..", "..", "..", ".marina");

interface Running {
  infoFile: string;
  info: StackInfo;
  stop: () => Promise<void>;
}

interface Shared {
  running: Promise<Running> | undefined;
  users: number;
  seenFolder: string | undefined;
}

// Both projects ask for the stack, each through a separate instance of this module: the first starts it, the last
// stops it, and they share this object of the process.
const SHARED = Symbol.for("marina.test-stack");
const holder = globalThis as { [SHARED]?: Shared };
holder[SHARED] ??= { running: undefined, users: 0, seenFolder: undefined };
const shared = holder[SHARED];

const PENDING_POLL_MS = 1000;

/** A stack that runs already; one whose programs are still being built is waited for. */
async function useStack(infoFile: string): Promise<Running> {
  const progress = createProgress(process.stderr);
  const read = (): StackInfo => JSON.parse(readFileSync(infoFile, "utf8"));
  const wait = async (): Promise<void> => {
    while (read().pending.length > 0) await sleep(PENDING_POLL_MS);
  };
  const { pending } = read();
  if (pending.length > 0) await progress.during(`waiting for ${pending.length} parts of ${infoFile}`, wait());
  return { infoFile, info: read(), stop: async () => {} };
}

/** Complete, for programs that are built beside tests take many times as long, and the tests of the registry wait for them. */
async function openStack(): Promise<Running> {
  const given = process.env.MARINA_STACK;
  if (given !== undefined) return useStack(resolve(given));
  const progress = createProgress(process.stderr);
  const stack = await startStack({
    dir: join(RUN_DIRS, process.env.MARINA_TEST_STACK ?? "test"),
    provider: DEFAULT_PROVIDER,
    fresh: true,
    // Integration tests of the API create their clusters with this plan, so that no machine is created for them.
    refusedPlans: ["scale"],
    // With one core for all tests a renewal takes over 10 s: each minute an operator ended, and Events with it.
    operator: { MARINA_LEASE_DURATION_SECONDS: "120" },
    onCrash: "report",
    // Read by the test of the chart's rights.
    audit: "programs",
    progress,
  });
  const joined = Promise.race([stack.complete, stack.crashed]);
  const pending = stack.pending().length;
  await (pending > 0 ? progress.during(`waiting for ${pending} parts`, joined) : joined);
  return stack;
}

/**
 * Gives the tests one running stack: MARINA_STACK=<path of a stack.json> uses one that runs already (for a quick round
 * while developing), else a fresh one is started, in the folder that MARINA_TEST_STACK names: two runs at once need
 * two. `inject("stackJson")` is the path; MARINA_TEST_KUBECONFIG and MARINA_TEST_DATABASE_URL serve the tests of shared
 * code, which may not import from here; MARINA_TEST_SEEN_FOLDER is where processes note which answers they saw; kubectl
 * is in PATH.
 */
export default async function setUpStack(project: TestProject): Promise<() => Promise<void>> {
  shared.running ??= openStack();
  shared.users += 1;
  const { infoFile, info, stop } = await shared.running;
  project.provide("stackJson", infoFile);
  process.env.MARINA_TEST_KUBECONFIG = info.kubeconfig;
  process.env.MARINA_TEST_DATABASE_URL = info.databaseUrl;
  shared.seenFolder ??= mkdtempSync(join(tmpdir(), "marina-seen-"));
  process.env.MARINA_TEST_SEEN_FOLDER ??= shared.seenFolder;
  process.env.PATH = `${dirname(info.kubectl)}${delimiter}${process.env.PATH ?? ""}`;
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.running = undefined;
    await stop();
    if (shared.seenFolder !== undefined) rmSync(shared.seenFolder, { recursive: true });
    shared.seenFolder = undefined;
  };
}
