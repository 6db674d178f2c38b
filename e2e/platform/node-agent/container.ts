import { messageOf } from "../../../shared/program/errors.ts";
import { sleep } from "../../../shared/program/time.ts";
import type { ContainerProcess } from "./container-process.ts";
import { ContainerConfigError } from "./environment.ts";
import type { Container, ContainerState, ContainerStatus, PodSpec } from "./kinds.ts";
import { act, runProbe, type Target } from "./probes.ts";

export interface ContainerOptions {
  spec: Container;
  restartPolicy: PodSpec["restartPolicy"];
  graceSeconds: () => number;
  /** Starts a process. Throws ContainerConfigError while something that the specification names is missing. */
  start: () => Promise<ContainerProcess>;
  targetOf: (process: ContainerProcess) => Target;
  /** The status has changed. */
  onChange: () => void;
}

/** One container of a Pod, with its restarts. */
export interface RunningContainer {
  status(): ContainerStatus;
  /** Resolves when it is not started again: it has ended by its restart policy, or was stopped. */
  ended: Promise<void>;
  /** Runs the preStop hook, sends SIGTERM, and SIGKILL when the grace period is over. */
  stop(): Promise<void>;
}

// The times of kubelet.
const FIRST_BACKOFF_SECONDS = 10;
const MAX_BACKOFF_SECONDS = 300;
const STEADY_AFTER_SECONDS = 600;
const CONFIG_RETRY_MS = 2000;

/** Seconds before a container is started again: it fails for the `failures`th time in a row; the first time at once. */
export function backoffSeconds(failures: number): number {
  return failures <= 1 ? 0 : Math.min(MAX_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** (failures - 2));
}

/** Whether a container that ended with this code is started again. */
export function isStartedAgain(policy: PodSpec["restartPolicy"], exitCode: number): boolean {
  return policy === "Never" ? false : policy === "OnFailure" ? exitCode !== 0 : true;
}

type Changing = Pick<ContainerStatus, "ready" | "started" | "restartCount" | "state" | "lastState">;

/** Runs a container until its restart policy or a stop ends it. */
export function runContainer(options: ContainerOptions): RunningContainer {
  const { spec, restartPolicy, onChange } = options;
  const stopping = new AbortController();
  const waiting = { reason: "ContainerCreating" };
  const now: Changing = { ready: false, started: false, restartCount: 0, state: { waiting }, lastState: {} };
  let current: ContainerProcess | undefined;
  let failures = 0;

  function update(change: Partial<Changing>): void {
    Object.assign(now, change);
    onChange();
  }

  /** Resolves to how it ended; undefined when it was stopped before. */
  async function runOnce(): Promise<ContainerState["terminated"]> {
    current = await startWhenPossible(options, stopping.signal, (state) => update({ state }));
    if (current === undefined) return undefined;
    update({ state: { running: { startedAt: current.startedAt } }, started: false, ready: false });
    if (stopping.signal.aborted) void stopProcess(current, options);
    const terminated = await watchProcess(current, options, update);
    current = undefined;
    update({ state: { terminated }, started: false, ready: false });
    return terminated;
  }

  async function run(): Promise<void> {
    for (;;) {
      const from = performance.now();
      const terminated = await runOnce();
      if (terminated === undefined || stopping.signal.aborted) return;
      if (!isStartedAgain(restartPolicy, terminated.exitCode)) return;
      failures = performance.now() - from > STEADY_AFTER_SECONDS * 1000 ? 1 : failures + 1;
      const seconds = backoffSeconds(failures);
      const message = `back-off ${seconds}s restarting failed container ${spec.name}`;
      const state = { waiting: { reason: "CrashLoopBackOff", message } };
      update({ state, lastState: { terminated }, restartCount: now.restartCount + 1 });
      if (!(await sleep(seconds * 1000, stopping.signal))) return;
    }
  }

  const ended = run();
  return {
    status: () => ({ name: spec.name, image: spec.image, imageID: spec.image, ...now }),
    ended,
    async stop() {
      stopping.abort();
      if (current !== undefined) await stopProcess(current, options);
      await ended;
    },
  };
}

/** Tries again while something is missing, and reports what; undefined when the signal aborts first. */
async function startWhenPossible(
  { start }: ContainerOptions,
  signal: AbortSignal,
  onWaiting: (state: ContainerState) => void,
): Promise<ContainerProcess | undefined> {
  while (!signal.aborted) {
    try {
      return await start();
    } catch (error) {
      const reason = error instanceof ContainerConfigError ? "CreateContainerConfigError" : "ErrImagePull";
      onWaiting({ waiting: { reason, message: messageOf(error) } });
      await sleep(CONFIG_RETRY_MS, signal);
    }
  }
  return undefined;
}

/** Probes the process until it has ended. */
async function watchProcess(
  process: ContainerProcess,
  options: ContainerOptions,
  update: (change: Partial<Changing>) => void,
): Promise<NonNullable<ContainerState["terminated"]>> {
  const { spec } = options;
  const probing = new AbortController();
  startProbes(spec, options.targetOf(process), probing.signal, {
    onStarted: () => update({ started: true, ready: spec.readinessProbe === undefined }),
    onReady: (ready) => update({ ready }),
    onDead: () => void stopProcess(process, options),
  });
  const end = await process.exited;
  probing.abort();
  return end;
}

/** Runs the preStop hook and sends SIGTERM, both within the grace period, and then SIGKILL. */
async function stopProcess(
  process: ContainerProcess,
  { spec, targetOf, graceSeconds }: ContainerOptions,
): Promise<void> {
  const deadline = performance.now() + graceSeconds() * 1000;
  const leftMs = (): number => Math.max(0, deadline - performance.now());
  const { preStop } = spec.lifecycle ?? {};
  if (preStop !== undefined) {
    // A failed hook does not keep the container from being stopped.
    const hook = act(preStop, targetOf(process), leftMs()).catch(() => undefined);
    await Promise.race([hook, sleep(leftMs()), process.exited]);
  }
  process.signal("SIGTERM");
  const timer = new AbortController();
  await Promise.race([process.exited, sleep(leftMs(), timer.signal)]);
  timer.abort();
  process.signal("SIGKILL");
  await process.exited;
}

interface ProbeCallbacks {
  onStarted(): void;
  onReady(ready: boolean): void;
  onDead(): void;
}

/** The startup probe first, then the two others; each in the background until the signal aborts. */
function startProbes(spec: Container, target: Target, signal: AbortSignal, callbacks: ProbeCallbacks): void {
  const { startupProbe, readinessProbe, livenessProbe } = spec;
  const begin = (): void => {
    callbacks.onStarted();
    if (readinessProbe !== undefined)
      void runProbe(readinessProbe, target, signal, (result) => callbacks.onReady(result === "success"));
    if (livenessProbe !== undefined)
      void runProbe(livenessProbe, target, signal, (result) => {
        if (result === "failure") callbacks.onDead();
      });
  };
  if (startupProbe === undefined) {
    begin();
    return;
  }
  const starting = new AbortController();
  signal.addEventListener("abort", () => starting.abort(), { once: true });
  void runProbe(startupProbe, target, starting.signal, (result) => {
    starting.abort();
    if (result === "success") begin();
    else callbacks.onDead();
  });
}
