import { setImmediate } from "node:timers/promises";

/** A computation that yields between its steps, each of which takes few milliseconds. */
export type Steps<Result> = Generator<undefined, Result>;

/** How long a computation keeps all other requests waiting. */
const TURN_MS = 10;

/** Runs a computation; other requests are handled between its steps. Rejects with what it throws. */
export async function runInTurns<Result>(steps: Steps<Result>): Promise<Result> {
  const pause = createPause();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    await pause();
  }
}

/** Runs a computation to its end, for a caller that cannot wait. Throws what it throws. */
export function runAtOnce<Result>(steps: Steps<Result>): Result {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Makes a function that lets other requests be handled, if they have waited for a turn since it last did. */
export function createPause(): () => Promise<void> | undefined {
  let startedAtMs = performance.now();
  const pause = async () => {
    await setImmediate();
    startedAtMs = performance.now();
  };
  return () => (performance.now() - startedAtMs < TURN_MS ? undefined : pause());
}
