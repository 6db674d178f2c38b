import { isDeepStrictEqual } from "node:util";
import type { ConditionLike } from "./conditions.ts";
import type { Plan } from "./plan.ts";
import { earliest } from "./time.ts";

/**
 * Until a node is up Cluster API changes its messages a dozen times, and the counts and conditions of what it creates as
 * often; each status written costs the kube-apiserver 11 to 25 ms of CPU, and the programs that follow it as much again.
 */
const DETAILS_EVERY_MS = 20_000;
/** A creation that takes no longer than this is not explained: `message` is absent, and no Event reports a wait. */
const CAUSES_EVERY_MS = 60_000;

/** The phase of every kind that is created in steps. */
const PROVISIONING = "Provisioning";

interface StatusLike {
  conditions?: readonly ConditionLike[] | undefined;
  message?: string | undefined;
  phase?: string | undefined;
  observedGeneration?: number | undefined;
  machines?: readonly { uid: string; phase?: string | undefined }[] | undefined;
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
 * creation, is written no earlier than 20 s after the last write, and the object is reconciled again then; one that differs
 * only in why a creation is not complete yet, and has no `message` to report it, 60 s after it. Everything else is written at
 * once, with the current details, and so is every status that comes with an Event.
 */
export function createStatusThrottle(nowMs: () => number = () => performance.now()): StatusThrottle {
  /** The oldest first. */
  const writtenAtMs = new Map<string, number>();

  function forgetOld(now: number): void {
    for (const [key, atMs] of writtenAtMs) {
      if (now - atMs < CAUSES_EVERY_MS) return;
      writtenAtMs.delete(key);
    }
  }

  return (key, last, plan) => {
    if (plan.status === undefined) return plan;
    const now = nowMs();
    forgetOld(now);
    const atMs = writtenAtMs.get(key);
    const everyMs = last === undefined ? 0 : intervalOf(last, plan as Plan<StatusLike>);
    if (atMs !== undefined && now - atMs < everyMs) {
      const waitMs = atMs + everyMs - now;
      return { ...plan, status: undefined, requeueAfterMs: earliest([plan.requeueAfterMs, waitMs]) };
    }
    writtenAtMs.delete(key);
    writtenAtMs.set(key, now);
    return plan;
  };
}

/** How long after the last write a plan is written: 0 unless it changes details only, which no Event reports. */
function intervalOf(last: StatusLike, { status: next = {}, events }: Plan<StatusLike>): number {
  const isSame = (view: (status: StatusLike) => unknown) => isDeepStrictEqual(view(last), view(next));
  const isBeingCreated = last.phase === PROVISIONING && next.phase === PROVISIONING && events.length === 0;
  if (!isSame(withoutMessages) && !(isBeingCreated && isSame(withoutProgress))) return 0;
  const isUnexplained = isBeingCreated && next.message === undefined;
  return isUnexplained && isSame(withoutCauses) ? CAUSES_EVERY_MS : DETAILS_EVERY_MS;
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

/** What holds of a new object, not why the rest does not hold yet. */
function withoutCauses(status: StatusLike) {
  const shown = withoutMessages(status);
  return {
    ...shown,
    conditions: shown.conditions?.map((condition) => ({ ...condition, reason: "" })),
    machines: status.machines?.map((machine) => ({ ...machine, phase: "" })),
  };
}
