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
import { clipStatusMessage } from "../../shared/crd/conditions.ts";
import { MAX_TRANSITIONS } from "../../shared/crd/fields.ts";
import type {
  NodePoolConditionType,
  NodePoolPhase,
  NodePoolStatus,
  NodePoolTransition,
} from "../../shared/crd/node-pool.ts";
import { decideConditions } from "./conditions.ts";
import type { ObservedPool } from "./observe.ts";
import { measurePool, type PoolProgress } from "./progress.ts";
import { followReplacements } from "./replacements.ts";

/** Who applies pools together with their cluster shall not be told in between that it is missing. */
const ORPHAN_MS = 5_000;

type Happened = Omit<NodePoolTransition, "sequence" | "at">;

/** The whole status of a pool as it stands now, and when it has to be looked at again for the sake of time alone. */
export function composePoolStatus(
  observed: ObservedPool,
  fault: Fault | undefined,
  now: Date,
): { status: NodePoolStatus; requeueAfterMs: number | undefined } {
  const { pool } = observed;
  const last = pool.status;
  const progress = measurePool(
    pool,
    observed.engine,
    observed.machines,
    {
      nodeDegradedAfterSeconds: observed.nodeDegradedAfterSeconds,
      heldBack: observed.heldBack !== undefined,
    },
    now,
  );
  const generation = pool.metadata.generation ?? 0;
  const decided = decideConditions(observed, progress, fault);
  const conditions = setConditions<NodePoolConditionType>(last?.conditions ?? [], decided, now, generation);
  const isReady = findCondition(conditions, "Ready")?.status === "True";
  const firstReadyAt = last?.firstReadyAt ?? (isReady ? formatTime(now) : undefined);
  const phase = projectPhase(conditions);
  const stalled = findCondition(conditions, "Stalled");
  const silentMs =
    pool.metadata.deletionTimestamp === undefined && observed.cluster === undefined
      ? ORPHAN_MS
      : SILENT_WAIT_MS;
  const waited = heldForMs(findCondition(conditions, "Reconciling"), now);
  const message = composeMessage(conditions, waited, silentMs);
  const version = progress.version;
  const selector = observed.engine?.selector ?? last?.selector;
  const happened: Happened[] = [];
  const replacements = followReplacements(observed, now);
  happened.push(...replacements.done);
  if (last?.firstReadyAt === undefined && firstReadyAt !== undefined) happened.push({ type: "Ready" });
  if (phase === "Failed" && projectPhase(last?.conditions ?? []) !== "Failed") {
    happened.push({ type: "Failed", ...(stalled && { reason: stalled.reason }) });
  }
  return {
    status: {
      observedGeneration: generation,
      conditions,
      phase,
      nodes: progress.nodes,
      readyNodes: progress.readyNodes,
      upToDateNodes: progress.upToDateNodes,
      ...(firstReadyAt !== undefined && { firstReadyAt }),
      ...(version !== undefined && { version }),
      ...(selector !== undefined && { selector }),
      ...(message !== undefined && { message: clipStatusMessage(message) }),
      machines: presentMachines(observed),
      ...(replacements.open.length > 0 && { replacements: replacements.open }),
      transitions: appendTransitions(last?.transitions ?? [], happened, MAX_TRANSITIONS, now),
    },
    requeueAfterMs: nextLook(conditions, waited, silentMs, progress),
  };
}

/** The phase is for people, and nothing but the conditions in one word. */
export function projectPhase(conditions: readonly ConditionLike<NodePoolConditionType>[]): NodePoolPhase {
  const ready = findCondition(conditions, "Ready");
  if (ready?.reason === "Deleting") return "Deleting";
  const serves = ready?.status === "True";
  if (!serves && findCondition(conditions, "Stalled")?.status === "True") return "Failed";
  if (ready?.reason === "NodesUnhealthy") return "Scaling";
  if (!serves) return "Provisioning";
  const moving =
    findCondition(conditions, "Scaling")?.status === "True" ||
    findCondition(conditions, "UpToDate")?.status === "False";
  return moving ? "Scaling" : "Ready";
}

function composeMessage(
  conditions: readonly ConditionLike<NodePoolConditionType>[],
  waitedMs: number,
  silentMs: number,
): string | undefined {
  const stalled = findCondition(conditions, "Stalled");
  if (stalled?.status === "True") return stalled.message;
  const ready = findCondition(conditions, "Ready");
  if (ready?.reason === "NodesUnhealthy") return ready.message;
  const reconciling = findCondition(conditions, "Reconciling");
  if (reconciling?.status === "True" && waitedMs >= silentMs) return reconciling.message;
  const autoscaling = findCondition(conditions, "Autoscaling");
  const isMissed = ["NotConfigured", "AutoscalerUnavailable"].includes(autoscaling?.reason ?? "");
  return isMissed ? autoscaling?.message : undefined;
}

function presentMachines(observed: ObservedPool): NonNullable<NodePoolStatus["machines"]> {
  return observed.machines.map(({ name, uid, node, phase, ready, version, createdAt }) => ({
    name,
    uid,
    ...(node !== undefined && { node }),
    phase,
    ready,
    ...(version !== undefined && { version }),
    createdAt,
  }));
}

function nextLook(
  conditions: readonly ConditionLike<NodePoolConditionType>[],
  waitedMs: number,
  silentMs: number,
  progress: PoolProgress,
): number | undefined {
  const reconciling = findCondition(conditions, "Reconciling")?.status === "True";
  const speaks = reconciling && waitedMs < silentMs;
  return earliest([speaks ? silentMs - waitedMs : undefined, progress.nextSickInMs]);
}
