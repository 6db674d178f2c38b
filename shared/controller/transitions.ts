import { formatTime } from "./time.ts";

interface Transition {
  sequence: number;
  at: string;
}

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
