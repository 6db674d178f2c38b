import { monitorEventLoopDelay } from "node:perf_hooks";

export interface Liveness {
  /** Whether the event loop turned in time of late. */
  isAlive: () => boolean;
  stop(): void;
}

export interface LivenessOptions {
  /** How long the loop is watched for one verdict. */
  windowMs: number;
  /** Half of the turns of a window may not be later than this. */
  limitMs: number;
}

/** A pause, however long, is one late turn among many; a loop that crawls for seconds will not recover by itself. */
const DEFAULT_OPTIONS: LivenessOptions = { windowMs: 10_000, limitMs: 1000 };
const RESOLUTION_MS = 20;

/** Watches the delay of the event loop: every window gives the verdict that holds until the end of the next one. */
export function watchEventLoop({ windowMs, limitMs }: LivenessOptions = DEFAULT_OPTIONS): Liveness {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
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
