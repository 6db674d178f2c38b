import { isDeepStrictEqual } from "node:util";
import type { ConditionLike } from "./conditions.ts";
import type { Plan } from "./plan.ts";
import { earliest } from "./time.ts";

/**
 * Until a node is up Cluster API changes its messages a dozen times, and the counts and conditions of what it creates as
 * often; each status written costs the kube-apiserver 11 to 25 ms of CPU, and the programs that follow it as much again.
 */
const DETAILS_EVERY_MS = 20_000;

/** The phase of every kind that is created in steps. */
const PROVISIONING = "Provisioning";

interface StatusLike {
  conditions?: readonly ConditionLike[] | undefined;
  message?: string | undefined;
  phase?: string | undefined;
  observedGeneration?: number | undefined;
  machines?: readonly { uid: string }[] | undefined;
  replacements?: readonly unknown[] | undefined;
  transitions?: readonly unknown[] | undefined;
}

/** The plan for the object `key` with the status `last`, as it may be applied now. */
export type StatusThrottle = <Status extends StatusLike>(
  key: string,
  last: Status | undefined,
  plan: Plan<Status>,
) => Plan<Status>;

/**
 * Throttles changes of details: a status that differs from the last one only in its messages, or in the progress of a
 * creation, is written no earlier than 20 s after the last write, and the object is reconciled again then. Everything else is
 * written at once, with the current details, and so is every status that comes with an Event.
 */
export function createStatusThrottle(nowMs: () => number = () => performance.now()): StatusThrottle {
  /** The oldest first. */
  const writtenAtMs = new Map<string, number>();

  function forgetOld(now: number): void {
    for (const [key, atMs] of writtenAtMs) {
      if (now - atMs < DETAILS_EVERY_MS) return;
      writtenAtMs.delete(key);
    }
  }

  return (key, last, plan) => {
    if (plan.status === undefined) return plan;
    const now = nowMs();
    forgetOld(now);
    const atMs = writtenAtMs.get(key);
    if (atMs !== undefined && last !== undefined && isDetail(last, plan as Plan<StatusLike>)) {
      const waitMs = atMs + DETAILS_EVERY_MS - now;
      return { ...plan, status: undefined, requeueAfterMs: earliest([plan.requeueAfterMs, waitMs]) };
    }
    writtenAtMs.delete(key);
    writtenAtMs.set(key, now);
    return plan;
  };
}

/** Whether a plan changes only messages, or only the progress of a creation, which nobody is told of by an Event. */
function isDetail(last: StatusLike, { status: next = {}, events }: Plan<StatusLike>): boolean {
  if (isDeepStrictEqual(withoutMessages(last), withoutMessages(next))) return true;
  const isBeingCreated = last.phase === PROVISIONING && next.phase === PROVISIONING;
  return (
    isBeingCreated && events.length === 0 && isDeepStrictEqual(withoutProgress(last), withoutProgress(next))
  );
}

/** What is written at once while an object is being created: what is decided later builds on it. */
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
    machines: machines?.map(({ uid }) => uid).toSorted(),
    replacements,
    transitions,
  };
}

function withoutMessages(status: StatusLike) {
  return {
    ...status,
    message: status.message !== undefined,
    conditions: status.conditions?.map((condition) => ({ ...condition, message: "" })),
  };
}
