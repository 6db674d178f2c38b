import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { messageOf } from "../../../shared/program/errors.ts";
import { StartError } from "../programs/start-error.ts";
import { buildNodeName, isBuildNode } from "./builds.ts";
import { splitTable } from "./graph.ts";
import { issuerOf, requestTokens } from "./identity.ts";
import { createInfoFile, type InfoFile } from "./info-file.ts";
import { describeJoined } from "./later-parts.ts";
import { objectStoreOf } from "./object-store.ts";
import { postgresHome } from "./postgres.ts";
import type { Part } from "./process-part.ts";
import { formatElapsed, type Progress, reportWhile, silentProgress } from "./progress.ts";
import { receiverUrlOf } from "./receiver.ts";
import { registryOf } from "./registry.ts";
import { releaseLock, takeLock } from "./run-lock.ts";
import { prepareStack, type Setup, sharedStorageOf } from "./setup.ts";
import type { StackInfo } from "./stack-info.ts";
import type { StackOptions } from "./stack-options.ts";
import { createSupervisor, endLeftovers, type Node, type Supervisor } from "./supervisor.ts";
import { GO_MODULES } from "./tools.ts";

export interface Stack {
  readonly info: StackInfo;
  readonly infoFile: string;
  /** One process by its name in `info.processes`, to inspect, kill and restart. */
  part(name: string): Part;
  /** What has not joined yet, by the names of its nodes. */
  pending(): readonly string[];
  /** Seconds until the programs that are not built yet are expected to be. */
  remainingSeconds(): number;
  /** Resolves when nothing is pending that can still join; never, when the stack is stopped before. */
  readonly complete: Promise<void>;
  /** Resolves with a message when a part has ended by itself and, with onCrash "stop", everything else is down. */
  readonly crashed: Promise<string>;
  stop(): Promise<void>;
}

function clearRun(dir: string, lockFile: string): void {
  rmSync(postgresHome(dir), { recursive: true, force: true });
  for (const name of readdirSync(dir)) {
    const path = join(dir, name);
    if (path !== lockFile) rmSync(path, { recursive: true, force: true });
  }
}

function requireNotRunning(dir: string, lockFile: string, apiUrl: string): void {
  const holder = takeLock(lockFile, { apiUrl });
  if (holder === undefined) return;
  throw new StartError(
    `The stack of ${dir} is already running: pid ${holder.pid}, API ${holder.apiUrl}; stop that one first (Ctrl-C there, or kill ${holder.pid}).`,
  );
}

async function describeStack(setup: Setup): Promise<StackInfo> {
  const { environment, tools, ports, secrets } = setup;
  const issuer = issuerOf(ports);
  return {
    apiUrl: environment.apiUrl,
    docsUrl: `${environment.apiUrl}/docs`,
    issuer,
    databaseUrl: environment.migrate.MARINA_DATABASE_URL,
    kubeconfig: setup.kubeconfig,
    programKubeconfigs: setup.programKubeconfigs,
    kubectl: tools.path("kubectl"),
    helm: tools.path("helm"),
    logs: join(setup.dir, "logs"),
    objectStore: objectStoreOf({ ports, secrets }),
    registry: await registryOf({ dir: setup.dir, ports, secrets }),
    webhookReceiver: { url: receiverUrlOf(ports), caFile: setup.certificates.caFile },
    sharedStorage: sharedStorageOf(setup.dir),
    metrics: {
      apiserver: `${environment.apiMetricsUrl}/metrics`,
      operator: `${environment.operatorUrl}/metrics`,
    },
    pending: [],
    processes: {},
    tokens: await requestTokens(issuer, secrets.clientSecret),
  };
}

/** What must be ready before the stack is, and what joins it later. */
function splitSetup(
  { answerEarly }: StackOptions,
  { nodes, builds }: Setup,
): { first: Node[]; later: Node[] } {
  if (answerEarly !== true) return { first: nodes, later: [] };
  const unbuilt = new Set(builds.pending().map(buildNodeName));
  return splitTable(nodes, "apiserver", ({ name }) => unbuilt.has(name));
}

/** The builds that these nodes wait for. */
function buildsOf(nodes: readonly Node[], { builds }: Setup): string[] {
  const names = new Set(nodes.map(({ name }) => name));
  return builds.pending().filter((name) => name === GO_MODULES || names.has(buildNodeName(name)));
}

/** What is built and how long it is expected to take, until the first nodes are ready and in all. */
function announceBuilds(
  { builds, estimateSeconds }: Setup,
  needed: readonly string[],
  progress: Progress,
): void {
  const pending = builds.pending();
  if (pending.length === 0) return;
  const timeOf = (builds: readonly string[]): string => formatElapsed(estimateSeconds(builds) * 1000);
  progress.line(
    `${pending.length} builds, once: about ${timeOf(needed)} until the stack is ready, ${timeOf(pending)} for all; later starts take seconds`,
  );
}

/**
 * A part that cannot join ends the stack like one that crashes; an optional one is reported. Resolves when all have
 * tried.
 */
async function joinLater(
  supervisor: Supervisor,
  { later, optional }: { later: readonly Node[]; optional: readonly (readonly Node[])[] },
  report: { crash: (message: string) => unknown; missing: (message: string) => unknown },
): Promise<void> {
  const join = (table: readonly Node[], onFailure: (message: string) => unknown): Promise<unknown> =>
    supervisor.join(table).catch((error: unknown) => onFailure(messageOf(error)));
  const joins = optional.map((table) =>
    join(table, (message) => report.missing(`${table.at(-1)?.name} is missing: ${message}`)),
  );
  await Promise.all([join(later, report.crash), ...joins]);
}

/** Reports a node that is done, and what works by it that did not at the summary. */
function reportReady(file: InfoFile, progress: Progress, name: string, seconds: number): void {
  const before = file.pending();
  file.markDone(name);
  if (!isBuildNode(name)) progress.line(`${name} (${seconds.toFixed(1)} s)`);
  if (!file.isOpen) return;
  for (const text of describeJoined(before, file.pending())) progress.line(text);
}

async function runStack(options: StackOptions, setup: Setup, progress: Progress): Promise<Stack> {
  const { builds, optional } = setup;
  const infoFile = join(setup.dir, "stack.json");
  const { promise: crashed, resolve: reportCrash } = Promise.withResolvers<string>();
  const { promise: complete, resolve: reportComplete } = Promise.withResolvers<void>();
  const { first, later } = splitSetup(options, setup);
  const file = createInfoFile(
    infoFile,
    [first, later, ...optional].flat().map(({ name }) => name),
  );
  let crash: string | undefined;
  const onCrash = (message: string): void => {
    crash ??= message;
    progress.line(message);
    if (options.onCrash === "report") reportCrash(message);
    else void stop().then(() => reportCrash(message));
  };
  const supervisor = createSupervisor({
    dir: setup.dir,
    onReady: (name, seconds) => reportReady(file, progress, name, seconds),
    onChange: () => file.update(),
    onCrash: (_part, message) => onCrash(message),
  });
  const ending = new AbortController();
  let building = Promise.resolve();
  const stop = async (): Promise<void> => {
    file.close();
    ending.abort();
    await supervisor.stop();
    await building;
    // A killed local provider leaves its tenants running.
    await endLeftovers(setup.dir);
    setup.kube.close();
    setup.close();
  };
  options.signal?.addEventListener("abort", () => void stop(), { once: true });
  try {
    options.signal?.throwIfAborted();
    const needed = buildsOf(first, setup);
    announceBuilds(setup, needed, progress);
    const started = supervisor.start(first);
    building = builds.run(ending.signal, { names: needed, done: started.catch(() => {}) });
    const names = new Set(first.map(({ name }) => name));
    const describeStarting = () =>
      `starting: ${file
        .pending()
        .filter((name) => names.has(name))
        .join(", ")}`;
    await reportWhile(progress, describeStarting, started);
    const info = await describeStack(setup);
    file.open(info, () => supervisor.parts());
    const joining = joinLater(
      supervisor,
      { later, optional },
      {
        crash: (message) => file.isOpen && onCrash(message),
        missing: (message) => file.isOpen && progress.line(message),
      },
    ).then(() => file.isOpen && reportComplete());
    // Each takes a moment only, and the summary need not name them.
    if (builds.pending().length === 0) await joining;
    const remainingSeconds = () => setup.estimateSeconds(builds.pending());
    const part = (name: string): Part => supervisor.part(name);
    return { info, infoFile, part, pending: () => file.pending(), remainingSeconds, complete, crashed, stop };
  } catch (error) {
    await stop();
    if (options.signal?.aborted === true) throw new StartError("stopped");
    throw crash === undefined ? error : new StartError(crash);
  }
}

/**
 * Starts the stack and returns when every part is ready, or with `answerEarly` when the API answers. Throws StartError
 * when it cannot; then every part is stopped.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const dir = resolve(options.dir);
  const progress = options.progress ?? silentProgress;
  const lockFile = join(dir, "lock");
  mkdirSync(dir, { recursive: true });
  requireNotRunning(dir, lockFile, `http://127.0.0.1:${options.apiPort ?? "(a free port)"}`);
  try {
    const leftovers = await endLeftovers(dir);
    if (leftovers.length > 0) progress.line(`ended leftovers of a killed start: ${leftovers.join(", ")}`);
    if (options.fresh === true) clearRun(dir, lockFile);
    const setup = await prepareStack(options, dir, progress);
    const stack = await runStack(options, setup, progress);
    return {
      ...stack,
      async stop() {
        await stack.stop();
        releaseLock(lockFile);
      },
    };
  } catch (error) {
    releaseLock(lockFile);
    throw error;
  }
}
