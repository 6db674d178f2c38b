import { readFileSync } from "node:fs";
import { runTenantStory } from "./testing/tenant-story.ts";

const STACK_FILE = ".marina/stack.json";

/** `npm run demo`: the tenant's story against the running stack, one line per step. */
async function main(): Promise<void> {
  const stack = readStackFile();
  console.log(`A tenant's first cluster, on ${stack.apiUrl}\n`);
  const started = performance.now();
  let number = 0;
  await runTenantStory(stack, ({ title, detail, seconds }) => {
    number += 1;
    console.log(
      `${String(number).padStart(2)}. ${title.padEnd(26)} ${seconds.toFixed(1).padStart(6)} s   ${detail}`,
    );
  });
  console.log(`\nDone in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

function readStackFile() {
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
