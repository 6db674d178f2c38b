import { monitorEventLoopDelay } from "node:perf_hooks";

export interface Liveness {
  /** Whether the event loop ran without long delays in the last window. */
  isAlive: () => boolean;
  stop(): void;
}

export interface LivenessOptions {
  /** How long the loop is measured for one result. */
  windowMs: number;
  /** The greatest median delay within a window. */
  limitMs: number;
}

/** The delays that were measured since the last reset, in nanoseconds. */
export type LoopDelay = Pick<
  ReturnType<typeof monitorEventLoopDelay>,
  "percentile" | "reset" | "enable" | "disable"
>;

/** One pause, however long, hardly moves the median; a loop that is slow for seconds will not recover by itself. */
const DEFAULT_OPTIONS: LivenessOptions = { windowMs: 10_000, limitMs: 1000 };
const RESOLUTION_MS = 20;

/** Measures the delay of the event loop; the result of a window holds until the end of the next one. */
export function watchEventLoop(
  { windowMs, limitMs }: LivenessOptions = DEFAULT_OPTIONS,
  delay: LoopDelay = monitorEventLoopDelay({ resolution: RESOLUTION_MS }),
): Liveness {
  delay.enable();
  let alive = true;
  const timer = setInterval(() => {
    alive = delay.percentile(50) / 1e6 <= limitMs;
    delay.reset();
  }, windowMs).unref();
  return {
    isAlive: () => alive,
    stop() {
      clearInterval(timer);
      delay.disable();
    },
  };
}
