import { elapsedMs, formatTime } from "../program/time.ts";

interface Transition {
  sequence: number;
  at: string;
}

/** The shape that all conditions share (metav1.Condition). */
export interface ConditionLike<Type extends string = string> {
  type: Type;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number | undefined;
}

/** A condition as a reconcile decides it; `setConditions` adds times and generation. */
export type NewCondition<Type extends string> = Omit<
  ConditionLike<Type>,
  "lastTransitionTime" | "observedGeneration"
>;

/**
 * The new conditions: `lastTransitionTime` is kept where the status did not change, otherwise it is `now`. Conditions
 * that are not in `next` are removed.
 */
export function setConditions<Type extends string>(
  previous: readonly ConditionLike[],
  next: readonly NewCondition<Type>[],
  now: Date,
  observedGeneration: number,
): ConditionLike<Type>[] {
  return next.map((condition) => {
    const before = findCondition(previous, condition.type);
    const unchanged = before?.status === condition.status;
    return {
      ...condition,
      lastTransitionTime: unchanged ? before.lastTransitionTime : formatTime(now),
      observedGeneration,
    };
  });
}

/** The condition of this type; undefined = there is none. */
export function findCondition<Found extends ConditionLike, Type extends Found["type"]>(
  conditions: readonly Found[] | undefined,
  type: Type,
): (Found & { type: Type }) | undefined {
  return conditions?.find((condition): condition is Found & { type: Type } => condition.type === type);
}

/**
 * A status with the conditions of these types alone, in their order. Those of other types belong to other controllers:
 * applying a status without them leaves them unchanged.
 */
export function withOwnConditions<Status extends { conditions?: readonly ConditionLike[] | undefined }>(
  status: Status,
  types: readonly string[],
): Status {
  const { conditions } = status;
  if (conditions === undefined) return status;
  const byType = new Map(conditions.map((condition) => [condition.type, condition]));
  return { ...status, conditions: types.flatMap((type) => byType.get(type) ?? []) };
}

/** How long a condition has had its current status, in ms; 0 for a missing condition. */
export function conditionAgeMs(condition: { lastTransitionTime: string } | undefined, now: Date): number {
  return condition === undefined ? 0 : elapsedMs(condition.lastTransitionTime, now);
}

/** A reason and a message for a condition: the reason for programs, the message with the next step. */
export interface Problem {
  reason: string;
  message: string;
}

/** Nothing waits for a person. */
export const NOT_STALLED = {
  type: "Stalled",
  status: "False",
  reason: "NotStalled",
  message: "No blocking problem.",
} as const;

/** The last `limit` transitions, oldest first; the new ones continue the numbering. */
export function appendTransitions<T extends Transition>(
  previous: readonly T[],
  happened: readonly Omit<T, keyof Transition>[],
  limit: number,
  now: Date,
): T[] {
  const last = previous.at(-1)?.sequence ?? 0;
  const added = happened.map((what, index) => {
    const transition: Transition = { sequence: last + index + 1, at: formatTime(now) };
    return { ...transition, ...what } as T;
  });
  return [...previous, ...added].slice(-limit);
}
