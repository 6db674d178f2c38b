import { isDeepStrictEqual } from "node:util";
import { earliest } from "../program/time.ts";
import { type ConditionLike, findCondition } from "./conditions.ts";
import type { Plan } from "./plan.ts";

/**
 * Until a node is up Cluster API changes its messages a dozen times, and the counts and conditions of what it creates
 * as often; each status written costs the kube-apiserver 11 to 25 ms of CPU, and the programs that follow it as much
 * again.
 */
const DETAILS_EVERY_MS = 20_000;
/**
 * Counters that keep changing are written this long after they began to differ, as those of a cluster whose nodes leave
 * one by one.
 */
const COUNTERS_WITHIN_MS = 40_000;
/**
 * Why a creation lasts is written no more often than this while its status has no message: that is there after
 * MARINA_REPORT_WAIT_AFTER_SECONDS. An object that was not touched for so long is forgotten.
 */
const CAUSES_EVERY_MS = 60_000;

/** The phase of every kind that is created in steps. */
const PROVISIONING = "Provisioning";

interface ListedMachine {
  uid: string;
  phase?: string | undefined;
  node?: string | undefined;
  provisioned?: boolean | undefined;
  vcpus?: number | undefined;
}

interface StatusLike {
  conditions?: readonly ConditionLike[] | undefined;
  message?: string | undefined;
  phase?: string | undefined;
  observedGeneration?: number | undefined;
  machines?: readonly ListedMachine[] | undefined;
  replacements?: readonly unknown[] | undefined;
  transitions?: readonly unknown[] | undefined;
}

export interface StatusThrottle {
  /** The plan for the object `key` with the status `last`, as it may be applied now. */
  limit<Status extends StatusLike>(key: string, last: Status | undefined, plan: Plan<Status>): Plan<Status>;
  /** To be called once such a plan was applied: a status that could not be written delays no other one. */
  noteApplied(key: string, plan: Pick<Plan<unknown>, "status">): void;
}

export interface StatusThrottleOptions {
  /** Fields of the status that count other objects, and so change whenever one of these does. */
  counters?: readonly string[];
  nowMs?: () => number;
}

/** What the throttle keeps of an object. */
interface ThrottleState {
  writtenAtMs: number | undefined;
  /**
   * Counters that are not written yet, since when they have had these values, and since when they differ from the
   * written ones.
   */
  pendingCounters: { counters: unknown; sinceMs: number; differSinceMs: number } | undefined;
  touchedAtMs: number;
}

/**
 * Lets a status be written at once, with its details of that moment, unless it differs from the last one in details alone: these
 * are held back for seconds, as findWaitMs says, and the object is reconciled again when they are due. A status with an Event,
 * or in which a condition ceases to be True, never waits.
 */
export function createStatusThrottle({
  counters = [],
  nowMs = () => performance.now(),
}: StatusThrottleOptions = {}): StatusThrottle {
  /** The one touched longest ago first. */
  const states = new Map<string, ThrottleState>();

  function touch(key: string, now: number): ThrottleState {
    for (const [other, { touchedAtMs }] of states) {
      if (now - touchedAtMs < CAUSES_EVERY_MS) break;
      states.delete(other);
    }
    const state = states.get(key) ?? { writtenAtMs: undefined, pendingCounters: undefined, touchedAtMs: now };
    state.touchedAtMs = now;
    states.delete(key);
    states.set(key, state);
    return state;
  }

  return {
    limit(key, last, plan) {
      const known = states.get(key);
      if (plan.status === undefined) {
        if (known !== undefined) known.pendingCounters = undefined;
        return plan;
      }
      const now = nowMs();
      const state = touch(key, now);
      const waitMs =
        last === undefined ? 0 : findWaitMs(state, last, plan as Plan<StatusLike>, counters, now);
      if (waitMs === 0) return plan;
      return { ...plan, status: undefined, requeueAfterMs: earliest([plan.requeueAfterMs, waitMs]) };
    },
    noteApplied(key, { status }) {
      if (status === undefined) return;
      const now = nowMs();
      Object.assign(touch(key, now), { writtenAtMs: now, pendingCounters: undefined });
    },
  };
}

/** In how many ms the status of a plan may be written: 0 = now, undefined = when anything else of it changes. */
function findWaitMs(
  state: ThrottleState,
  last: StatusLike,
  plan: Plan<StatusLike>,
  counters: readonly string[],
  now: number,
): number | undefined {
  const { status: next = {}, events } = plan;
  if (events.length > 0 || correctsTrue(last, next)) return 0;
  const before = splitCounters(last, counters);
  const after = splitCounters(next, counters);
  const isSame = (view: (status: StatusLike) => unknown) =>
    isDeepStrictEqual(view(before.rest), view(after.rest));
  const isBeingCreated = last.phase === PROVISIONING && next.phase === PROVISIONING;
  if (isSame((status) => status)) {
    // Counters alone: once they have not changed for 20 s, after 40 s at the latest; during a creation not at all.
    if (isBeingCreated) return undefined;
    const isUnchanged = isDeepStrictEqual(state.pendingCounters?.counters, after.counters);
    const { sinceMs = now, differSinceMs = now } = state.pendingCounters ?? {};
    state.pendingCounters = { counters: after.counters, sinceMs: isUnchanged ? sinceMs : now, differSinceMs };
    return Math.min(
      remaining(state.pendingCounters.sinceMs, DETAILS_EVERY_MS, now),
      remaining(differSinceMs, COUNTERS_WITHIN_MS, now),
    );
  }
  if (!isSame(withoutMessages) && !(isBeingCreated && isSame(withoutProgress))) return 0;
  // Messages, and the progress of a creation: 20 s after the last write. Why a creation without `message` lasts: 60 s after it.
  const isUnexplained = isBeingCreated && next.message === undefined;
  const everyMs = isUnexplained && isSame(withoutCauses) ? CAUSES_EVERY_MS : DETAILS_EVERY_MS;
  return state.writtenAtMs === undefined ? 0 : remaining(state.writtenAtMs, everyMs, now);
}

function remaining(sinceMs: number, durationMs: number, now: number): number {
  return Math.max(0, sinceMs + durationMs - now);
}

/** Whether a condition that was True is not any more: who waits for it must not be misled. */
function correctsTrue(last: StatusLike, next: StatusLike): boolean {
  const isTrue = (status: StatusLike, type: string) =>
    findCondition(status.conditions, type)?.status === "True";
  return (last.conditions ?? []).some(({ type }) => isTrue(last, type) && !isTrue(next, type));
}

function splitCounters(
  status: StatusLike,
  names: readonly string[],
): { counters: unknown; rest: StatusLike } {
  const entries = Object.entries(status);
  const isCounter = ([name]: [string, unknown]) => names.includes(name);
  return {
    counters: Object.fromEntries(entries.filter(isCounter)),
    rest: Object.fromEntries(entries.filter((entry) => !isCounter(entry))),
  };
}

/**
 * What is written at once while an object is being created: what is decided later builds on it, as whether a machine that goes is
 * billed.
 */
function withoutProgress({
  conditions,
  observedGeneration,
  machines,
  replacements,
  transitions,
}: StatusLike) {
  const stalled = conditions?.find(({ type }) => type === "Stalled");
  return {
    stalled: stalled && [stalled.status, stalled.reason],
    observedGeneration,
    machines: machines?.map((machine) => `${machine.uid} ${exists(machine)} ${machine.vcpus}`).toSorted(),
    replacements,
    transitions,
  };
}

/** Whether there is something of a machine outside of the object. */
function exists({ node, provisioned }: ListedMachine): boolean {
  return provisioned === true || node !== undefined;
}

function withoutMessages(status: StatusLike) {
  return {
    ...status,
    message: status.message !== undefined,
    conditions: status.conditions?.map((condition) => ({ ...condition, message: "" })),
  };
}

/** Without messages and reasons. */
function withoutCauses(status: StatusLike) {
  const shown = withoutMessages(status);
  return {
    ...shown,
    conditions: shown.conditions?.map((condition) => ({ ...condition, reason: "" })),
    machines: status.machines?.map((machine) => ({ ...machine, phase: "" })),
  };
}
