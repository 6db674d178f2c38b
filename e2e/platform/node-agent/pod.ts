import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { objectPath } from "../../../shared/kube/object.ts";
import { messageOf } from "../../../shared/program/errors.ts";
import { sleep } from "../../../shared/program/time.ts";
import { loopbackOfPod } from "./addresses.ts";
import { type RunningContainer, runContainer } from "./container.ts";
import type { Context, Place } from "./context.ts";
import { type Container, type ContainerStatus, type Pod, type PodSpec, podKind } from "./kinds.ts";
import { startPodContainer, userOf } from "./pod-container.ts";
import { createPodVolumes, type PodVolumes } from "./pod-volumes.ts";
import { createReporter, writeStatus } from "./reporter.ts";
import { composeExecCommand } from "./sandbox.ts";
import { composeStatus } from "./status.ts";

/** A Pod that runs on one of the agent's Nodes. */
export interface RunningPod {
  podIP: string;
  /** The newest object of it: a deletion begins to stop it. */
  observe(pod: Pod): void;
  /** Kills its processes and leaves the object alone. */
  kill(): Promise<void>;
}

const VOLUME_SYNC_MS = 1000;
const DEFAULT_GRACE_SECONDS = 30;
/** Address of this machine, on which all Nodes are. */
export const HOST_ADDRESS = "127.0.0.1";

/** Runs a Pod from now on; `onGone` is called when its object is deleted. */
export function runPod(context: Context, first: Pod, podIP: string, onGone: () => void): RunningPod {
  const { log, config } = context;
  let pod = first;
  const { namespace, name, uid = "" } = pod.metadata;
  const place = { podIP, folder: join(config.runDir, "pods", uid) };
  const tellError = (error: unknown): void =>
    log.error({ err: error, pod: `${namespace}/${name}` }, "failed");
  const volumes = createPodVolumes(context, pod, place);
  const containers = createContainers(context, () => pod, {
    ...place,
    volumes,
    onChange: () => reporter.request(),
  });
  const reporter = createReporter(async () => {
    const state = { podIP, hostIP: HOST_ADDRESS, ...containers.statuses() };
    const status = await writeStatus(context, pod, composeStatus(pod, state, new Date().toISOString()));
    pod = { ...pod, ...(status && { status }) };
  }, tellError);
  mkdirSync(place.folder, { recursive: true });
  containers.run().catch(tellError);

  /** The last status, and then the object goes, as kubelet does it. */
  async function stopForDeletion(): Promise<void> {
    if (!(await containers.stop())) return;
    await reporter.settled();
    await context.transport.request({
      method: "DELETE",
      path: objectPath(podKind, namespace, name),
      body: { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, preconditions: { uid } },
    });
    rmSync(place.folder, { recursive: true, force: true });
    onGone();
  }

  return {
    podIP,
    observe(newest) {
      pod = { ...newest, ...(pod.status && { status: pod.status }) };
      if (pod.metadata.deletionTimestamp !== undefined) stopForDeletion().catch(tellError);
    },
    async kill() {
      pod = { ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds: 0 } };
      await containers.stop();
    },
  };
}

interface ContainersOptions extends Place {
  volumes: PodVolumes;
  onChange: () => void;
}

interface Containers {
  /** Runs them once the volumes are complete; keeps the volumes in step with their sources. */
  run(): Promise<void>;
  /** False when they are being stopped already. */
  stop(): Promise<boolean>;
  statuses(): {
    initContainers: ContainerStatus[];
    containers: ContainerStatus[];
    problem: string | undefined;
  };
}

function createContainers(context: Context, podOf: () => Pod, options: ContainersOptions): Containers {
  const { spec, metadata } = podOf();
  const { volumes, onChange } = options;
  const stopping = new AbortController();
  const initContainers: RunningContainer[] = [];
  const containers: RunningContainer[] = [];
  let problem: string | undefined;

  async function runAll(): Promise<void> {
    const initPolicy = spec.restartPolicy === "Never" ? "Never" : "OnFailure";
    for (const one of spec.initContainers ?? []) {
      if (stopping.signal.aborted) return;
      const container = runOne(context, podOf, { ...options, spec: one, restartPolicy: initPolicy });
      initContainers.push(container);
      await container.ended;
      if (container.status().state.terminated?.exitCode !== 0) return;
    }
    if (stopping.signal.aborted) return;
    const { restartPolicy = "Always" } = spec;
    containers.push(
      ...spec.containers.map((one) => runOne(context, podOf, { ...options, spec: one, restartPolicy })),
    );
    onChange();
  }

  return {
    async run() {
      let started: Promise<void> | undefined;
      do {
        const before = problem;
        problem = await volumes.sync().then(() => undefined, messageOf);
        if (problem === undefined) started ??= runAll();
        if (problem !== before) {
          context.log.info({ pod: `${metadata.namespace}/${metadata.name}`, problem }, "volumes");
          onChange();
        }
      } while (await sleep(VOLUME_SYNC_MS, stopping.signal));
      await started;
    },
    async stop() {
      if (stopping.signal.aborted) return false;
      stopping.abort();
      await Promise.all([...initContainers, ...containers].map((container) => container.stop()));
      return true;
    },
    statuses: () => ({
      initContainers: statusesOf(spec.initContainers ?? [], initContainers),
      containers: statusesOf(spec.containers, containers),
      problem,
    }),
  };
}

interface OneOptions extends ContainersOptions {
  spec: Container;
  restartPolicy: PodSpec["restartPolicy"];
}

function runOne(context: Context, podOf: () => Pod, options: OneOptions): RunningContainer {
  const { spec, restartPolicy, podIP, folder, volumes, onChange } = options;
  let count = 0;
  return runContainer({
    spec,
    restartPolicy,
    graceSeconds() {
      const { metadata, spec: ofPod } = podOf();
      const { terminationGracePeriodSeconds = DEFAULT_GRACE_SECONDS } = ofPod;
      return metadata.deletionGracePeriodSeconds ?? terminationGracePeriodSeconds;
    },
    async start() {
      const at = { pod: podOf(), spec, podIP, folder, folderOfVolume: volumes.folderOf };
      return startPodContainer(context, { ...at, count: count++ });
    },
    targetOf: ({ pid }) => ({
      address: loopbackOfPod(podIP),
      ports: spec.ports,
      execCommand: (command) => composeExecCommand(pid, userOf(podOf(), spec), command),
    }),
    onChange,
  });
}

function statusesOf(specs: readonly Container[], running: readonly RunningContainer[]): ContainerStatus[] {
  return specs.map((spec, index) => running[index]?.status() ?? waitingStatus(spec));
}

function waitingStatus({ name, image }: Container): ContainerStatus {
  const state = { waiting: { reason: "PodInitializing" } };
  return { name, image, imageID: "", ready: false, started: false, restartCount: 0, state, lastState: {} };
}
