import { isDeepStrictEqual } from "node:util";
import {
  type ConditionLike,
  type Fault,
  findCondition,
  formatTime,
  heldForMs,
  SILENT_WAIT_MS,
  setConditions,
} from "../../shared/controller/conditions.ts";
import { earliest } from "../../shared/controller/earliest.ts";
import { appendTransitions } from "../../shared/controller/transitions.ts";
import type {
  ClusterConditionType,
  ClusterPhase,
  ClusterStatus,
  ClusterTransition,
} from "../../shared/crd/cluster.ts";
import { clipStatusMessage } from "../../shared/crd/conditions.ts";
import { MAX_TRANSITIONS } from "../../shared/crd/fields.ts";
import { measurePool } from "../node-pool/progress.ts";
import { decideAspects, type Facts, type PoolView } from "./conditions.ts";
import { judgeHealth } from "./health.ts";
import type { ObservedCluster } from "./observe.ts";
import { decideSums } from "./sums.ts";

type Conditions = readonly ConditionLike<ClusterConditionType>[];
type Happened = Omit<ClusterTransition, "sequence" | "at">;

/** What was decided in this reconcile, as far as the status tells of it. */
export interface StatusInput {
  observed: ObservedCluster;
  fault: Fault | undefined;
  target: string | undefined;
  subnet: string | undefined;
  clusterClass: string | undefined;
  /** The live engine object is what was decided, and the engine has acted on it. */
  taken: boolean;
}

/** The whole status of a cluster as it stands now, and when time alone makes another look necessary. */
export function composeClusterStatus(
  input: StatusInput,
  now: Date,
): { status: ClusterStatus; requeueAfterMs: number | undefined } {
  const { observed } = input;
  const { cluster, settings, engine } = observed;
  const last = cluster.status;
  const pools = viewPools(observed, now);
  // A control plane serves with its version before the engine calls the first rollout settled.
  const kept = last?.version ?? engine?.state.controlPlaneVersions[0];
  const running = engine?.state.settled ? engine.state.version : kept;
  const target = input.target ?? last?.targetVersion;
  const staying = pools.filter((pool) => !pool.leaving);
  const facts: Facts = { observed, fault: input.fault, pools: staying, target, running, taken: input.taken };
  const generation = cluster.metadata.generation ?? 0;
  const before: Conditions = last?.conditions ?? [];
  const aspects = setConditions(before, decideAspects(facts), now, generation);
  const sickNodes = staying.flatMap((pool) =>
    pool.progress.sick.map((machine) => machine.node ?? machine.name),
  );
  const health = judgeHealth(cluster, aspects, sickNodes, settings.degradedAfterSeconds, now);
  const sums = setConditions(before, decideSums(facts, aspects, health.ailment), now, generation);
  const conditions = [...sums, ...aspects];
  const isReady = findCondition(conditions, "Ready")?.status === "True";
  const firstReadyAt = last?.firstReadyAt ?? (isReady ? formatTime(now) : undefined);
  const message = composeMessage(conditions, now);
  const happened = findHappened(last, { conditions, firstReadyAt, running });
  const status: ClusterStatus = {
    observedGeneration: generation,
    conditions,
    phase: projectPhase(conditions),
    ...composeAddresses(observed),
    ...optional("version", running),
    ...optional("targetVersion", target),
    ...optional("workerSubnet", input.subnet ?? last?.workerSubnet),
    ...optional("firstReadyAt", firstReadyAt),
    nodePools: countPools(observed),
    nodes: countNodes(pools),
    transitions: appendTransitions(last?.transitions ?? [], happened, MAX_TRANSITIONS, now),
    ...(last?.usage !== undefined && { usage: last.usage }),
    ...optional("message", message && clipStatusMessage(message)),
    ...optional("clusterClass", input.clusterClass ?? engine?.state.classRef?.name ?? last?.clusterClass),
  };
  return {
    status,
    requeueAfterMs: nextLook(conditions, [health.requeueAfterMs, ...staying.map(nextSick)], now),
  };
}

/** The status to write; undefined when it says what the last one said. */
export function changedStatus(
  last: ClusterStatus | undefined,
  next: ClusterStatus,
): ClusterStatus | undefined {
  return isDeepStrictEqual(last, next) ? undefined : next;
}

/** The phase is for people, and nothing but the conditions in one word. */
export function projectPhase(conditions: Conditions): ClusterPhase {
  const ready = findCondition(conditions, "Ready");
  if (ready?.reason === "Deleting") return "Deleting";
  if (isDegraded(conditions)) return "Degraded";
  if (ready?.status !== "True") {
    return findCondition(conditions, "Stalled")?.status === "True" ? "Failed" : "Provisioning";
  }
  if (findCondition(conditions, "Upgrading")?.status === "True") return "Upgrading";
  return findCondition(conditions, "WorkersReady")?.status === "False" ? "Scaling" : "Ready";
}

function isDegraded(conditions: Conditions): boolean {
  const ready = findCondition(conditions, "Ready");
  const ailments = ["ControlPlaneUnavailable", "EndpointUnreachable", "NodesUnhealthy"];
  return ready?.status === "False" && ailments.includes(ready.reason);
}

function viewPools(observed: ObservedCluster, now: Date): PoolView[] {
  const { nodeDegradedAfterSeconds } = observed.settings;
  // A pool that is kept out altogether is nothing that the cluster waits for.
  const admitted = observed.pools.filter(({ heldBack, engine }) => !heldBack || engine !== undefined);
  return admitted.map(({ pool, engine, machines, heldBack }) => ({
    name: pool.metadata.name,
    leaving: pool.metadata.deletionTimestamp !== undefined,
    progress: measurePool(pool, engine, machines, { nodeDegradedAfterSeconds, heldBack: heldBack }, now),
  }));
}

function nextSick(pool: PoolView): number | undefined {
  return pool.progress.nextSickInMs;
}

function composeAddresses({ engine, cluster }: ObservedCluster) {
  const { endpoint } = engine?.state ?? {};
  const { apiServerURL, publicAddress } = cluster.status ?? {};
  if (endpoint === undefined)
    return { ...optional("apiServerURL", apiServerURL), ...optional("publicAddress", publicAddress) };
  return { apiServerURL: endpoint.url, ...(cluster.spec.publicEndpoint && { publicAddress: endpoint.host }) };
}

function countPools(observed: ObservedCluster): { total: number; ready: number } {
  const pools = observed.pools.map(({ pool }) => pool);
  const ready = pools.filter((pool) => findCondition(pool.status?.conditions, "Ready")?.status === "True");
  return { total: pools.length, ready: ready.length };
}

/** Counted pool by pool: the engine's own sum is seconds behind. */
function countNodes(pools: readonly PoolView[]): { total: number; ready: number } {
  const sum = (count: (progress: PoolView["progress"]) => number) =>
    pools.reduce((total, pool) => total + count(pool.progress), 0);
  return { total: sum((progress) => progress.nodes), ready: sum((progress) => progress.readyNodes) };
}

function findHappened(
  last: ClusterStatus | undefined,
  next: { conditions: Conditions; firstReadyAt: string | undefined; running: string | undefined },
): Happened[] {
  const before: Conditions = last?.conditions ?? [];
  const happened: Happened[] = [];
  const ready = findCondition(next.conditions, "Ready");
  const version = { ...(next.running !== undefined && { version: next.running }) };
  if (last?.firstReadyAt === undefined && next.firstReadyAt !== undefined) {
    happened.push({ type: "Ready", ...version });
  }
  if (last?.version !== undefined && next.running !== undefined && last.version !== next.running) {
    happened.push({ type: "Upgraded", version: next.running, previousVersion: last.version });
  }
  if (isDegraded(next.conditions) && !isDegraded(before)) {
    happened.push({ type: "Degraded", ...version, ...(ready && { reason: ready.reason }) });
  }
  if (isDegraded(before) && ready?.status === "True") happened.push({ type: "Recovered", ...version });
  if (projectPhase(next.conditions) === "Failed" && projectPhase(before) !== "Failed") {
    happened.push({ type: "Failed", ...(ready && { reason: ready.reason }) });
  }
  return happened;
}

/** One sentence while something has failed or waits for longer than a minute; else nothing. */
function composeMessage(conditions: Conditions, now: Date): string | undefined {
  const stalled = findCondition(conditions, "Stalled");
  if (stalled?.status === "True") return stalled.message;
  if (isDegraded(conditions)) return findCondition(conditions, "Ready")?.message;
  const reconciling = findCondition(conditions, "Reconciling");
  if (reconciling?.status !== "True" || heldForMs(reconciling, now) < SILENT_WAIT_MS) return undefined;
  return reconciling.message;
}

function nextLook(conditions: Conditions, others: (number | undefined)[], now: Date): number | undefined {
  const reconciling = findCondition(conditions, "Reconciling");
  const waitedMs = heldForMs(reconciling, now);
  const speaks = reconciling?.status === "True" && waitedMs < SILENT_WAIT_MS;
  return earliest([speaks ? SILENT_WAIT_MS - waitedMs : undefined, ...others]);
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined) {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}
