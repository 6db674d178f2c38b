import { sleep } from "../../shared/kube/sleep.ts";
import { messageOf } from "../programs/start-error.ts";
import type { ContainerProcess } from "./container-process.ts";
import { ContainerConfigError } from "./environment.ts";
import type { Container, ContainerState, ContainerStatus, PodSpec } from "./kinds.ts";
import { act, runProbe, type Target } from "./probes.ts";

export interface ContainerOptions {
  spec: Container;
  restartPolicy: PodSpec["restartPolicy"];
  graceSeconds: () => number;
  /** Starts a process. Throws ContainerConfigError while something that the specification names is missing. */
  start(): Promise<ContainerProcess>;
  targetOf(process: ContainerProcess): Target;
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

/** Runs a container until its restart policy or a stop ends it. */
export function runContainer(options: ContainerOptions): RunningContainer {
  const { spec, restartPolicy, onChange } = options;
  const stopping = new AbortController();
  const now: Pick<ContainerStatus, "ready" | "started" | "restartCount" | "state" | "lastState"> = {
    ready: false,
    started: false,
    restartCount: 0,
    state: { waiting: { reason: "ContainerCreating" } },
    lastState: {},
  };
  let current: ContainerProcess | undefined;
  let failures = 0;

  function update(change: Partial<typeof now>): void {
    Object.assign(now, change);
    onChange();
  }

  async function startOnce(): Promise<ContainerProcess | undefined> {
    while (!stopping.signal.aborted) {
      try {
        return await options.start();
      } catch (error) {
        const reason = error instanceof ContainerConfigError ? "CreateContainerConfigError" : "ErrImagePull";
        update({ state: { waiting: { reason, message: messageOf(error) } } });
        await sleep(CONFIG_RETRY_MS, stopping.signal);
      }
    }
    return undefined;
  }

  /** Probes the process until it has ended. */
  async function watchProcess(process: ContainerProcess): Promise<NonNullable<ContainerState["terminated"]>> {
    const probing = new AbortController();
    const target = options.targetOf(process);
    const kill = (): void => void stopProcess(process, target);
    startProbes(spec, target, probing.signal, {
      onStarted: () => update({ started: true, ready: spec.readinessProbe === undefined }),
      onReady: (ready) => update({ ready }),
      onDead: kill,
    });
    const end = await process.exited;
    probing.abort();
    return end;
  }

  async function stopProcess(process: ContainerProcess, target: Target): Promise<void> {
    const deadline = performance.now() + options.graceSeconds() * 1000;
    const leftMs = (): number => Math.max(0, deadline - performance.now());
    const { preStop } = spec.lifecycle ?? {};
    if (preStop !== undefined) {
      // A failed hook does not keep the container from being stopped.
      const hook = act(preStop, target, leftMs()).catch(() => undefined);
      await Promise.race([hook, sleep(leftMs()), process.exited]);
    }
    process.signal("SIGTERM");
    const timer = new AbortController();
    await Promise.race([process.exited, sleep(leftMs(), timer.signal)]);
    timer.abort();
    process.signal("SIGKILL");
    await process.exited;
  }

  async function run(): Promise<void> {
    for (;;) {
      current = await startOnce();
      if (current === undefined) return;
      const from = performance.now();
      update({ state: { running: { startedAt: current.startedAt } }, started: false, ready: false });
      const terminated = await watchProcess(current);
      current = undefined;
      update({ state: { terminated }, started: false, ready: false });
      if (stopping.signal.aborted || !isStartedAgain(restartPolicy, terminated.exitCode)) return;
      failures = performance.now() - from > STEADY_AFTER_SECONDS * 1000 ? 1 : failures + 1;
      const seconds = backoffSeconds(failures);
      const message = `back-off ${seconds}s restarting failed container ${spec.name}`;
      const waiting = { reason: "CrashLoopBackOff", message };
      update({ state: { waiting }, lastState: { terminated }, restartCount: now.restartCount + 1 });
      if (!(await sleep(seconds * 1000, stopping.signal))) return;
    }
  }

  const ended = run();
  return {
    status: () => ({ name: spec.name, image: spec.image, imageID: spec.image, ...now }),
    ended,
    async stop() {
      stopping.abort();
      if (current !== undefined) await stopProcess(current, options.targetOf(current));
      await ended;
    },
  };
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
