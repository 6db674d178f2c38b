import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { messageOf } from "../shared/program/errors.ts";
import { lastSeconds } from "./checks/test-report/kept.ts";
import { isBuildNode } from "./platform/stack/builds.ts";
import { formatElapsed } from "./platform/stack/progress.ts";
import type { StackInfo } from "./platform/stack/stack-info.ts";
import { deleteWholeOrganization } from "./testing/delete-organization.ts";
import { createUntil, type Waiting } from "./testing/reported-wait.ts";
import { createTenant } from "./testing/tenant.ts";
import { describeSeen, type OnStep, runTenantStory } from "./testing/tenant-story.ts";

const STACK_FILE = ".marina/stack.json";

/** A cluster waits for the programs that the first start on a machine still builds: minutes, on a slow one an hour. */
const DEADLINE_SECONDS = 3600;

/**
 * `npm run demo`: the tenant's story against the running stack, one line per step and every 10 s of a wait. What it made is deleted
 * at its end, also after a failure and a signal. Returns whether the story succeeded.
 */
async function main(signal: AbortSignal): Promise<boolean> {
  const stack = readStackFile();
  const last = lastSeconds.read().demo;
  const expected = last === undefined ? "" : `; it took ${formatElapsed(last * 1000)} last time`;
  console.log(`A tenant's first cluster, on ${stack.apiUrl}${expected}\n`);
  const started = performance.now();
  let number = 0;
  const onStep: OnStep = ({ title, detail, seconds }) => {
    number += 1;
    console.log(
      `${String(number).padStart(2)}. ${title.padEnd(26)} ${seconds.toFixed(1).padStart(6)} s   ${detail}`,
    );
  };
  let organization: string | undefined;
  const onOrganization = (id: string): void => {
    organization = id;
  };
  const waiting = { onWait: reportWait, deadlineSeconds: DEADLINE_SECONDS };
  const options = { ...waiting, signal, onOrganization, hasRealClusters: true };
  const failure = await runTenantStory(stack, onStep, options).then(() => undefined, messageOf);
  if (failure !== undefined) console.error(`\n${failure}`);
  if (organization !== undefined) await removeDemo(stack, organization, waiting);
  if (failure !== undefined) return false;
  const seconds = (performance.now() - started) / 1000;
  lastSeconds.add({ demo: Math.round(seconds) });
  console.log(
    `\nDone in ${seconds.toFixed(1)} s. Next: the same by hand (docs/tenants/first-cluster.md), and every request at ${stack.docsUrl}`,
  );
  return true;
}

async function removeDemo(stack: StackInfo, organization: string, waiting: Waiting): Promise<void> {
  console.log("\nDeleting the organization, with its webhook and what is left of its cluster");
  const alice = createTenant(stack.apiUrl, stack.tokens.alice);
  await deleteWholeOrganization(alice, organization, createUntil(describeSeen, waiting));
}

const reportWait: NonNullable<Waiting["onWait"]> = ({ what, seconds, seen }) =>
  console.log(`    waiting for ${what} ${seconds.toFixed(0).padStart(6)} s   ${seen}${describeBuilds()}`);

/** What the stack still builds; empty when it has everything. */
function describeBuilds(): string {
  const builds = readStackFile().pending.filter(isBuildNode);
  return builds.length === 0
    ? ""
    : `; the stack has ${builds.length} programs to build, next: ${builds[0]?.slice("build ".length)}`;
}

function readStackFile(): StackInfo {
  try {
    return JSON.parse(readFileSync(STACK_FILE, "utf8"));
  } catch (error) {
    throw new Error(`no running stack: ${STACK_FILE} cannot be read. Run "npm start" first.`, {
      cause: error,
    });
  }
}

const stopped = new AbortController();
let exitCode = 1;
// A terminal and npm may both send it: only the first counts, and the deletion goes on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    if (!stopped.signal.aborted) exitCode = 128 + constants.signals[signal];
    stopped.abort(new Error("stopped"));
  });
}
try {
  if (!(await main(stopped.signal))) process.exitCode = exitCode;
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = exitCode;
}
