import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { messageOf, StartError } from "../programs/start-error.ts";
import { issuerOf, requestTokens } from "./identity.ts";
import { objectStoreOf } from "./object-store.ts";
import { postgresHome } from "./postgres.ts";
import type { Part } from "./process-part.ts";
import { type Progress, silentProgress } from "./progress.ts";
import { receiverUrlOf } from "./receiver.ts";
import { registryOf } from "./registry.ts";
import { releaseLock, takeLock } from "./run-lock.ts";
import { prepareStack, type Setup, sharedStorageOf } from "./setup.ts";
import { describeProcesses, type StackInfo, writeStackInfo } from "./stack-info.ts";
import type { StackOptions } from "./stack-options.ts";
import { createSupervisor, endLeftovers } from "./supervisor.ts";

export interface Stack {
  readonly info: StackInfo;
  readonly infoFile: string;
  /** One process by its name in `info.processes`, to inspect, kill and restart. */
  part(name: string): Part;
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

async function describeStack(setup: Setup, parts: readonly Part[]): Promise<StackInfo> {
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
    processes: describeProcesses(parts),
    tokens: await requestTokens(issuer, secrets.clientSecret),
  };
}

async function runStack(options: StackOptions, setup: Setup, progress: Progress): Promise<Stack> {
  const infoFile = join(setup.dir, "stack.json");
  let info: StackInfo | undefined;
  let crash: string | undefined;
  let reportCrash: (message: string) => void = () => {};
  const crashed = new Promise<string>((resolveCrash) => {
    reportCrash = resolveCrash;
  });
  const supervisor = createSupervisor({
    dir: setup.dir,
    onReady: (name, seconds) => progress.line(`${name} (${seconds.toFixed(1)} s)`),
    onChange() {
      if (info === undefined) return;
      info.processes = describeProcesses(supervisor.parts());
      writeStackInfo(infoFile, info);
    },
    onCrash(_part, message) {
      crash ??= message;
      progress.line(message);
      if (options.onCrash === "report") reportCrash(message);
      else void stop().then(() => reportCrash(message));
    },
  });
  const ending = new AbortController();
  const stop = async (): Promise<void> => {
    info = undefined;
    ending.abort();
    await supervisor.stop();
    // A killed local provider leaves its tenants running.
    await endLeftovers(setup.dir);
    setup.kube.close();
    setup.close();
    rmSync(infoFile, { force: true });
  };
  options.signal?.addEventListener("abort", () => void stop(), { once: true });
  try {
    options.signal?.throwIfAborted();
    await supervisor.start(setup.nodes);
    info = await describeStack(setup, supervisor.parts());
    writeStackInfo(infoFile, info);
    for (const node of setup.lateNodes) {
      supervisor.join(node).catch((error: unknown) => {
        if (info !== undefined) progress.line(`${node.name} does not run: ${messageOf(error)}`);
      });
    }
    for (const { name, ensure } of setup.lateTools) {
      ensure(ending.signal).catch((error: unknown) => {
        if (info !== undefined) progress.line(`${name} is not built: ${messageOf(error)}`);
      });
    }
    return { info, infoFile, part: (name) => supervisor.part(name), crashed, stop };
  } catch (error) {
    await stop();
    if (options.signal?.aborted === true) throw new StartError("stopped");
    throw crash === undefined ? error : new StartError(crash);
  }
}

/**
 * Starts the stack and returns when every part is ready. Throws StartError when it cannot; then every part is stopped.
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
