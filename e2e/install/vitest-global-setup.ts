import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestProject } from "vitest/node";
import { createProgress } from "../platform/stack/progress.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { writeImage, writePreviousVersion } from "./images.ts";
import { openRelease, type Release } from "./release.ts";
import { requiredValues, storyValues } from "./values.ts";

const DIR = join(import.meta.dirname, "..", "..", ".marina", "install");
const NAMESPACE = "marina-system";

declare module "vitest" {
  interface ProvidedContext {
    /** Package of the chart's previous version. */
    previousChart: string;
  }
}

interface Installed {
  stack: Stack;
  infoFile: string;
  previousChart: string;
}

// Each project has an instance of this module; the first one installs, and the last one ends it.
const SHARED = Symbol.for("marina.installed-release");
const holder = globalThis as { [SHARED]?: { running: Promise<Installed>; users: number } };

async function time(what: string, run: () => Promise<void>): Promise<void> {
  const from = performance.now();
  await run();
  process.stderr.write(`${what} (${((performance.now() - from) / 1000).toFixed(1)} s)\n`);
}

/**
 * The way to an installed release with two replicas of each program: the previous version is installed with the three
 * values that cannot be guessed, and upgraded to the one of this tree with those that the stories need.
 */
async function installRelease(stack: Stack): Promise<Omit<Installed, "stack">> {
  const { info } = stack;
  await writeImage(DIR);
  const previousChart = await writePreviousVersion(DIR, info.helm);
  const release: Release = await openRelease(info, NAMESPACE);
  await time("helm install --wait, of the previous version", () =>
    release.install(requiredValues(info), previousChart),
  );
  await time("helm upgrade --wait", () => release.upgrade(storyValues(info)));
  await time("helm test", () => release.test());
  const apiUrl = await release.findApiUrl();
  const installed: StackInfo = { ...info, apiUrl, docsUrl: `${apiUrl}/docs` };
  const infoFile = join(dirname(stack.infoFile), "installed.json");
  writeFileSync(infoFile, JSON.stringify(installed), { mode: 0o600 });
  return { infoFile, previousChart };
}

async function openInstalled(): Promise<Installed> {
  const stack = await startStack({
    dir: DIR,
    provider: "local",
    fresh: true,
    parts: "prepared",
    onCrash: "report",
    progress: createProgress(process.stderr),
  });
  try {
    return { stack, ...(await installRelease(stack)) };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

export default async function setUpRelease(project: TestProject): Promise<() => Promise<void>> {
  holder[SHARED] ??= { running: openInstalled(), users: 0 };
  const shared = holder[SHARED];
  shared.users += 1;
  const { stack, infoFile, previousChart } = await shared.running;
  project.provide("stackJson", infoFile);
  project.provide("previousChart", previousChart);
  return async () => {
    shared.users -= 1;
    if (shared.users === 0) await stack.stop();
  };
}
