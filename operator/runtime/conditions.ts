/** The shape that all conditions share (metav1.Condition). */
export interface ConditionLike<Type extends string = string> {
  type: Type;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration: number;
}

/** A condition as a reconcile decides it; times and generation are added when it is set. */
export type NewCondition<Type extends string> = Omit<
  ConditionLike<Type>,
  "lastTransitionTime" | "observedGeneration"
>;

/**
 * The conditions as they will stand: `lastTransitionTime` is kept where the status did not change, otherwise it is
 * `now` (RFC 3339). All of `next` and nothing else: what a reconcile does not mention is gone.
 */
export function setConditions<Type extends string>(
  previous: readonly ConditionLike<Type>[],
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

export function findCondition<Type extends string>(
  conditions: readonly ConditionLike<Type>[] | undefined,
  type: Type,
): ConditionLike<Type> | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** RFC 3339 with whole seconds, as the Kubernetes API writes its times. */
export function formatTime(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, "Z");
}

/** How long a condition has had its present status; 0 for one that is not there. */
export function heldForMs(condition: { lastTransitionTime: string } | undefined, now: Date): number {
  return condition === undefined ? 0 : Math.max(0, now.getTime() - Date.parse(condition.lastTransitionTime));
}

/** A wait shorter than this is not worth a word to people; whatever is stuck shall be told of within a minute. */
export const SILENT_WAIT_MS = 55_000;

/** What only people can put right: a reason for programs, and a sentence with the next step. */
export interface Fault {
  reason: string;
  message: string;
}
