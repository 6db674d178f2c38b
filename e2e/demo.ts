import { readFileSync } from "node:fs";
import { lastSeconds } from "./checks/test-report/kept.ts";
import { isBuildNode } from "./platform/stack/builds.ts";
import { formatElapsed } from "./platform/stack/progress.ts";
import type { StackInfo } from "./platform/stack/stack-info.ts";
import type { Waiting } from "./testing/reported-wait.ts";
import { type OnStep, runTenantStory } from "./testing/tenant-story.ts";

const STACK_FILE = ".marina/stack.json";

/** A cluster waits for the programs that the first start on a machine still builds: minutes, on a slow one an hour. */
const DEADLINE_SECONDS = 3600;

/** `npm run demo`: the tenant's story against the running stack, one line per step and every 10 s of a wait. */
async function main(): Promise<void> {
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
  const onWait: Waiting["onWait"] = ({ what, seconds, seen }) =>
    console.log(`    waiting for ${what} ${seconds.toFixed(0).padStart(6)} s   ${seen}${describeBuilds()}`);
  await runTenantStory(stack, onStep, { onWait, deadlineSeconds: DEADLINE_SECONDS, hasRealClusters: true });
  const seconds = (performance.now() - started) / 1000;
  lastSeconds.add({ demo: Math.round(seconds) });
  console.log(
    `\nDone in ${seconds.toFixed(1)} s, and deleted again. Next: the same by hand (docs/tenants/first-cluster.md), and every request at ${stack.docsUrl}`,
  );
}

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

main().catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
