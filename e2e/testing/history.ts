import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import type { Kind } from "../../shared/kube/kind.ts";
import { createReflector } from "../../shared/kube/reflector.ts";
import { createStore } from "../../shared/kube/store.ts";
import { createLogger } from "../../shared/log.ts";
import { rememberSeen } from "../seen/seen.ts";

/** Every state of the clusters and pools of a namespace, recorded by a watch, so that none is missed. */
export interface History {
  /** The states of one object, the oldest first. */
  of(name: string): (Cluster | NodePool)[];
  /** Ends the watch. Returns violations of the rules for every status, one sentence each. */
  stop(): string[];
}

/** Starts the watch; resolves when every later change will be recorded. */
export async function followHistory(
  client: Pick<KubeClient, "list" | "watch">,
  namespace: string,
): Promise<History> {
  const states = new Map<string, (Cluster | NodePool)[]>();
  const ending = new AbortController();
  const follow = async <T extends Cluster | NodePool>(kind: Kind<T>) => {
    const reflector = createReflector<T>({
      client,
      kind,
      namespace,
      store: createStore<T>({}),
      onChange({ type, object }) {
        if (type === "deleted") return;
        rememberTexts(object);
        states.set(object.metadata.uid ?? "", [...(states.get(object.metadata.uid ?? "") ?? []), object]);
      },
      log: createLogger({ name: "history", level: "fatal" }),
    });
    reflector.start(ending.signal);
    await reflector.synced;
  };
  await Promise.all([follow<Cluster>(clusterKind), follow<NodePool>(nodePoolKind)]);
  return {
    of: (name) => [...states.values()].flat().filter(({ metadata }) => metadata.name === name),
    stop() {
      ending.abort();
      return [...states.values()].flatMap(findLies);
    },
  };
}

function rememberTexts({ kind, status }: Cluster | NodePool): void {
  const texts = [status?.message, ...(status?.conditions ?? []).map(({ message }) => message)];
  for (const text of texts) {
    if (text !== undefined) rememberSeen("text", JSON.stringify({ where: kind, text }));
  }
}

/** Reasons for which a ready object may become not ready. */
const LOSSES = [
  "Deleting",
  "ControlPlaneUnavailable",
  "EndpointUnreachable",
  "NodesUnhealthy",
  // For a pool whose cluster was removed by force.
  "WaitingForCluster",
];
/** Fields that never change once set, unless the status is lost. */
const FIXED = ["workerSubnet", "firstReadyAt"] as const;

function findLies(states: readonly (Cluster | NodePool)[]): string[] {
  return states.flatMap((state, index) => {
    const { metadata, kind } = state;
    const where = `${kind} ${metadata.name} at ${metadata.resourceVersion}`;
    return [...judgeState(state), ...judgeStep(states[index - 1], state)].map((lie) => `${where}: ${lie}`);
  });
}

function judgeState({ metadata, status }: Cluster | NodePool): string[] {
  const is = (type: "Ready" | "Reconciling" | "Stalled") => findOf(status, type)?.status === "True";
  const lies: string[] = [];
  if ((status?.observedGeneration ?? -1) > (metadata.generation ?? 0)) lies.push("it saw the future");
  if (is("Reconciling") && is("Stalled")) lies.push("it moves and is stuck");
  if (["Ready", "Scaling", "Upgrading"].includes(status?.phase ?? "") && !is("Ready")) {
    if (findOf(status, "Ready")?.reason !== "NodesUnhealthy") lies.push(`${status?.phase}, but not Ready`);
  }
  if (["Deleting", "Degraded", "Provisioning"].includes(status?.phase ?? "") && is("Ready")) {
    lies.push(`${status?.phase}, but Ready`);
  }
  const sequences = (status?.transitions ?? []).map(({ sequence }) => sequence);
  if (sequences.some((sequence, index) => index > 0 && sequence !== (sequences[index - 1] ?? 0) + 1)) {
    lies.push(`transitions ${sequences.join(", ")}`);
  }
  const once = (status?.transitions ?? []).filter(({ type }) => type === "Ready");
  if (once.length > 1) lies.push("it became ready for the first time twice");
  return lies;
}

function judgeStep(before: Cluster | NodePool | undefined, after: Cluster | NodePool): string[] {
  if (before === undefined) return [];
  const lies: string[] = [];
  const wasWiped = after.status?.conditions === undefined || before.status?.conditions === undefined;
  const ready = findOf(after.status, "Ready");
  if (findOf(before.status, "Ready")?.status === "True" && ready !== undefined && ready.status !== "True") {
    if (!LOSSES.includes(ready.reason)) lies.push(`no longer ready: ${ready.reason} ${ready.message}`);
  }
  for (const name of FIXED) {
    const [was, is] = [readFixed(before, name), readFixed(after, name)];
    if (was !== undefined && was !== is && !wasWiped) lies.push(`${name} went from ${was} to ${is}`);
  }
  const last = before.status?.transitions?.at(-1)?.sequence ?? 0;
  if ((after.status?.transitions?.at(-1)?.sequence ?? 0) < last && !wasWiped)
    lies.push("transitions were lost");
  return lies;
}

function readFixed({ status }: Cluster | NodePool, name: (typeof FIXED)[number]): string | undefined {
  return (status as Record<string, unknown> | undefined)?.[name] as string | undefined;
}

function findOf(status: Cluster["status"] | NodePool["status"], type: "Ready" | "Reconciling" | "Stalled") {
  const conditions: readonly { type: string; status: string; reason: string; message: string }[] =
    status?.conditions ?? [];
  return conditions.find((condition) => condition.type === type);
}
