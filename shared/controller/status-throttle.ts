import { isDeepStrictEqual } from "node:util";
import type { ConditionLike } from "./conditions.ts";
import { earliest } from "./earliest.ts";
import type { Plan } from "./plan.ts";

/**
 * Until a node is up the engine words what it waits for anew a dozen times, and each status written costs the
 * kube-apiserver 11 ms: a third of all that 20 clusters wrote until they were ready.
 */
const WORDS_EVERY_MS = 10_000;

interface Spoken {
  conditions?: readonly ConditionLike[] | undefined;
  message?: string | undefined;
}

/** The plan for the object `key`, whose status says `last`, as it may be carried out now. */
export type StatusThrottle = <Status extends Spoken>(
  key: string,
  last: Status | undefined,
  plan: Plan<Status>,
) => Plan<Status>;

/**
 * Makes a pace for words: a status that says what the last one said in other words waits until 10 s after the last
 * write, and the object is looked at again then. Whatever a program reads (a status, a reason, a count, that there is a
 * message at all) is written at once, with the words of that moment.
 */
export function createStatusThrottle(nowMs: () => number = () => performance.now()): StatusThrottle {
  /** The oldest first. */
  const writtenAtMs = new Map<string, number>();

  function forgetOld(now: number): void {
    for (const [key, atMs] of writtenAtMs) {
      if (now - atMs < WORDS_EVERY_MS) return;
      writtenAtMs.delete(key);
    }
  }

  return (key, last, plan) => {
    if (plan.status === undefined) return plan;
    const now = nowMs();
    forgetOld(now);
    const atMs = writtenAtMs.get(key);
    if (atMs !== undefined && last !== undefined && saysTheSame(last, plan.status)) {
      const waitMs = atMs + WORDS_EVERY_MS - now;
      return { ...plan, status: undefined, requeueAfterMs: earliest([plan.requeueAfterMs, waitMs]) };
    }
    writtenAtMs.delete(key);
    writtenAtMs.set(key, now);
    return plan;
  };
}

/** Whether two statuses differ in their words alone. */
function saysTheSame(last: Spoken, next: Spoken): boolean {
  return isDeepStrictEqual(withoutWords(last), withoutWords(next));
}

function withoutWords(status: Spoken) {
  return {
    ...status,
    message: status.message !== undefined,
    conditions: status.conditions?.map((condition) => ({ ...condition, message: "" })),
  };
}
