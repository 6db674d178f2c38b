import { podAddressOf } from "./addresses.ts";
import type { Context } from "./context.ts";
import type { Pod } from "./kinds.ts";
import { type RunningPod, runPod } from "./pod.ts";

/** The Pods of the agent's Nodes. */
export interface Pods {
  /** A Pod was added or changed. */
  observe(pod: Pod): void;
  /** A Pod was removed: nothing of it may go on. */
  forget(pod: Pod): void;
  /** Kills every process. */
  kill(): Promise<void>;
}

/** The lowest number whose address no Pod has. */
export function findFreeNumber(network: number, taken: ReadonlySet<string>): number {
  let number = 0;
  while (taken.has(podAddressOf(network, number))) number += 1;
  return number;
}

export function createPods(context: Context): Pods {
  const { config, log } = context;
  const running = new Map<string, RunningPod>();

  function begin(pod: Pod, uid: string): RunningPod {
    const taken = new Set([...running.values()].map(({ podIP }) => podIP));
    const podIP = podAddressOf(config.network, findFreeNumber(config.network, taken));
    const started = runPod(context, pod, podIP, () => running.delete(uid));
    running.set(uid, started);
    return started;
  }

  return {
    observe(pod) {
      const { nodeName = "" } = pod.spec;
      const { uid = "" } = pod.metadata;
      if (!config.nodes.includes(nodeName)) return;
      const isOver = pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
      if (isOver && !running.has(uid)) return;
      (running.get(uid) ?? begin(pod, uid)).observe(pod);
    },
    forget({ metadata: { uid = "", name } }) {
      const known = running.get(uid);
      running.delete(uid);
      known?.kill().catch((error: unknown) => log.error({ err: error, pod: name }, "not killed"));
    },
    async kill() {
      await Promise.all([...running.values()].map((one) => one.kill()));
    },
  };
}
