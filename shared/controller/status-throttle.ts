import { isDeepStrictEqual } from "node:util";
import type { ConditionLike } from "./conditions.ts";
import type { Plan } from "./plan.ts";
import { earliest } from "./time.ts";

/**
 * Until a node is up Cluster API changes its messages a dozen times, and each status written costs the kube-apiserver 11 ms
 * of CPU: a third of all writes for 20 clusters until they were ready.
 */
const MESSAGES_EVERY_MS = 10_000;

interface StatusLike {
  conditions?: readonly ConditionLike[] | undefined;
  message?: string | undefined;
}

/** The plan for the object `key` with the status `last`, as it may be applied now. */
export type StatusThrottle = <Status extends StatusLike>(
  key: string,
  last: Status | undefined,
  plan: Plan<Status>,
) => Plan<Status>;

/**
 * Throttles changes of messages: a status that differs from the last one only in its messages is written no earlier than 10 s
 * after the last write, and the object is reconciled again then. Everything that programs read (a status, a reason, a count,
 * whether there is a message) is written at once, with the current messages.
 */
export function createStatusThrottle(nowMs: () => number = () => performance.now()): StatusThrottle {
  /** The oldest first. */
  const writtenAtMs = new Map<string, number>();

  function forgetOld(now: number): void {
    for (const [key, atMs] of writtenAtMs) {
      if (now - atMs < MESSAGES_EVERY_MS) return;
      writtenAtMs.delete(key);
    }
  }

  return (key, last, plan) => {
    if (plan.status === undefined) return plan;
    const now = nowMs();
    forgetOld(now);
    const atMs = writtenAtMs.get(key);
    if (atMs !== undefined && last !== undefined && differsInMessages(last, plan.status)) {
      const waitMs = atMs + MESSAGES_EVERY_MS - now;
      return { ...plan, status: undefined, requeueAfterMs: earliest([plan.requeueAfterMs, waitMs]) };
    }
    writtenAtMs.delete(key);
    writtenAtMs.set(key, now);
    return plan;
  };
}

/** Whether two statuses differ in their messages only. */
function differsInMessages(last: StatusLike, next: StatusLike): boolean {
  return isDeepStrictEqual(withoutMessages(last), withoutMessages(next));
}

function withoutMessages(status: StatusLike) {
  return {
    ...status,
    message: status.message !== undefined,
    conditions: status.conditions?.map((condition) => ({ ...condition, message: "" })),
  };
}
