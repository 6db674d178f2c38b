import { lastSeconds } from "../checks/test-report/kept.ts";
import { endProcessesOnInterrupt } from "../platform/programs/interrupt.ts";
import { createProgress, formatElapsed, reportWhile } from "../platform/stack/progress.ts";
import { benchApi } from "./api.ts";
import { benchBilling } from "./billing/main.ts";
import { benchBodies } from "./bodies.ts";
import { benchClusters } from "./clusters.ts";
import { benchCreate } from "./create.ts";
import { benchEvents } from "./events.ts";
import { benchFairness } from "./fairness.ts";
import { benchHostile } from "./hostile.ts";
import { benchInstall } from "./install.ts";
import { benchLocal } from "./local.ts";
import { benchOperator } from "./operator/main.ts";
import { readBenchOptions } from "./options.ts";
import { benchProcesses } from "./processes.ts";
import { benchRegistry } from "./registry/main.ts";
import { benchStart } from "./start.ts";
import { benchStorage } from "./storage.ts";
import { benchSupport } from "./support.ts";
import { benchTenantReads } from "./tenant-reads.ts";
import { benchWebhooks } from "./webhooks/main.ts";

const benchmarks: Record<string, () => Promise<void>> = {
  start: benchStart,
  processes: benchProcesses,
  create: benchCreate,
  local: benchLocal,
  api: () => benchApi(readBenchOptions()),
  bodies: benchBodies,
  operator: benchOperator,
  events: benchEvents,
  install: benchInstall,
  fairness: benchFairness,
  hostile: benchHostile,
  clusters: benchClusters,
  storage: benchStorage,
  support: benchSupport,
  "tenant-reads": benchTenantReads,
  webhooks: benchWebhooks,
  billing: benchBilling,
  registry: benchRegistry,
};

/**
 * `npm run bench -- [name ...] [--renew]`: the named benchmarks, or all of them, one after another; with --renew their
 * figures are kept as the last ones. `npm run bench api -- --short` is for each change of requests; `npm run bench
 * operator [part ...]` is parts of one, also of clusters, webhooks, billing and registry; `npm run bench support [tickets]
 * [messages]` has sizes.
 */
async function main(names: string[]): Promise<void> {
  const command = process.argv.slice(2).join(" ");
  const startedAt = Date.now();
  const last = lastSeconds.read()[`bench ${command}`];
  const expected = last === undefined ? "" : `; all took ${formatElapsed(last * 1000)} last time`;
  let running = "";
  const say = (name: string): void => {
    running = name;
  };
  await reportWhile(
    createProgress(process.stderr, startedAt),
    () => `bench ${running}${expected}`,
    run(names, say),
  );
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  lastSeconds.add({ [`bench ${command}`]: seconds });
  console.log(
    `Done in ${formatElapsed(seconds * 1000)}. docs/contributors/testing.md says what the figures mean.`,
  );
}

/** Tells each benchmark before it runs. */
async function run(names: string[], say: (name: string) => void): Promise<void> {
  say(names.join(" "));
  if (names[0] === "operator") return benchOperator(names.slice(1));
  if (names[0] === "support") return benchSupport(names.slice(1));
  if (names[0] === "billing") return benchBilling(names.slice(1));
  if (names[0] === "clusters") return benchClusters(names.slice(1));
  if (names[0] === "registry") return benchRegistry(names.slice(1));
  if (names[0] === "webhooks") return benchWebhooks(names.slice(1));
  for (const name of names.length === 0 ? Object.keys(benchmarks) : names) {
    const benchmark = benchmarks[name];
    if (benchmark === undefined)
      throw new Error(`no benchmark "${name}"; there are: ${Object.keys(benchmarks).join(", ")}`);
    say(name);
    await benchmark();
  }
}

endProcessesOnInterrupt();
main(readBenchOptions().names).catch((error: Error) => {
  console.error(error);
  process.exit(1);
});
