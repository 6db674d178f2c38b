import { readFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { createProgress } from "./progress.ts";
import { startStack } from "./stack.ts";
import type { StackInfo } from "./stack-info.ts";

const TEST_DIR = join(import.meta.dirname, "..", "..", ".marina", "test");

interface Running {
  infoFile: string;
  info: StackInfo;
  stop: () => Promise<void>;
}

// Both projects ask for the stack; the first one starts it and the last one stops it.
let running: Promise<Running> | undefined;
let users = 0;

function openStack(): Promise<Running> {
  const given = process.env.MARINA_STACK;
  if (given !== undefined) {
    const infoFile = resolve(given);
    const info: StackInfo = JSON.parse(readFileSync(infoFile, "utf8"));
    return Promise.resolve({ infoFile, info, stop: async () => {} });
  }
  return startStack({
    dir: TEST_DIR,
    fresh: true,
    onCrash: "report",
    progress: createProgress(process.stderr),
  });
}

/**
 * Gives the tests one running stack: MARINA_STACK=<path of a stack.json> uses one that runs already (for a quick
 * round while developing), else a fresh one is started. `inject("stackJson")` is the path; MARINA_TEST_KUBECONFIG and
 * MARINA_TEST_DATABASE_URL serve the tests of shared code, which may not import from here; kubectl is in PATH.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  running ??= openStack();
  users += 1;
  const { infoFile, info, stop } = await running;
  project.provide("stackJson", infoFile);
  process.env.MARINA_TEST_KUBECONFIG = info.kubeconfig;
  process.env.MARINA_TEST_DATABASE_URL = info.databaseUrl;
  process.env.PATH = `${dirname(info.kubectl)}${delimiter}${process.env.PATH ?? ""}`;
  return async () => {
    users -= 1;
    if (users > 0) return;
    running = undefined;
    await stop();
  };
}
