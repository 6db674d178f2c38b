import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type Event, eventKind } from "../../shared/kube/core-kinds.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../shared/kube/kind.ts";
import { type Change, createReflector } from "../../shared/kube/reflector.ts";
import { createStore } from "../../shared/kube/store.ts";
import { createLogger } from "../../shared/program/log.ts";
import { rememberSeen } from "../contract/seen/seen.ts";
import { findCountLies } from "./count-rules.ts";
import { findLies } from "./history-rules.ts";
import { findEventLies, findWordLies, type Sighting } from "./moment-rules.ts";

/** Every state of the clusters and pools of a namespace and every Event, recorded by a watch, so that none is missed. */
export interface History {
  /** The states of one object, the oldest first. */
  of(name: string): (Cluster | NodePool)[];
  /** Ends the watch. Returns violations of the rules for every status and every Event, one sentence each. */
  stop(): string[];
}

/** Starts the watch; resolves when every later change will be recorded. */
export async function followHistory(
  client: Pick<KubeClient, "list" | "watch">,
  namespace: string,
): Promise<History> {
  const states = new Map<string, (Cluster | NodePool)[]>();
  const clusters: Sighting<Cluster>[] = [];
  const pools: Sighting<NodePool>[] = [];
  const events: Sighting<Event>[] = [];
  const interruptedAt: number[] = [];
  const ending = new AbortController();
  const follow = async <T extends KubeObject>(kind: Kind<T>, record: (change: Change<T>) => void) => {
    const reflector = createReflector<T>({
      client,
      kind,
      namespace,
      store: createStore<T>({}),
      onChange: record,
      log: createLogger({ name: "history", level: "fatal" }),
      metrics: { onRestart: () => interruptedAt.push(Date.now()), onSize: () => undefined },
    });
    reflector.start(ending.signal);
    await reflector.synced;
  };
  const add = (object: Cluster | NodePool) => {
    const uid = object.metadata.uid ?? "";
    rememberTexts(object);
    states.set(uid, [...(states.get(uid) ?? []), object]);
  };
  await Promise.all([
    follow(clusterKind, ({ type, object }) => {
      if (type !== "deleted") add(object);
      clusters.push({ at: Date.now(), object, gone: type === "deleted" });
    }),
    follow(nodePoolKind, ({ type, object }) => {
      if (type !== "deleted") add(object);
      pools.push({ at: Date.now(), object, gone: type === "deleted" });
    }),
    follow(eventKind, ({ type, object, initial }) => {
      if (type !== "deleted" && !initial && isAboutOurs(object)) events.push({ at: Date.now(), object });
    }),
  ]);
  return {
    of: (name) => [...states.values()].flat().filter(({ metadata }) => metadata.name === name),
    stop() {
      ending.abort();
      const ofStates = [...states.values()].flatMap(findLies);
      const ofCounts = findCountLies(clusters, pools, Date.now(), interruptedAt);
      const ofWords = findWordLies([...clusters, ...pools]);
      return [...ofStates, ...ofWords, ...findEventLies(events, pools, clusters), ...ofCounts];
    },
  };
}

function isAboutOurs({ regarding }: Event): boolean {
  return regarding?.apiVersion === apiVersionOf(clusterKind);
}

function rememberTexts({ kind, status }: Cluster | NodePool): void {
  const texts = [status?.message, ...(status?.conditions ?? []).map(({ message }) => message)];
  for (const text of texts) {
    if (text !== undefined) rememberSeen("text", JSON.stringify({ where: kind, text }));
  }
}
