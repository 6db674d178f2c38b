/** How often the event loop is seen to turn; a turn that is late by more than as much again is a stall. */
const TICK_MS = 250;

export interface StallWatch {
  /** Whether the event loop stood still at some time within the last `ms`. */
  hasStalled(ms: number): boolean;
  stop(): void;
}

/** Notices when this process stands still, so that its clients are not blamed for the time in which it read nothing. */
export function watchStalls(nowMs: () => number = () => performance.now()): StallWatch {
  let tickedMs = nowMs();
  let stalledMs = Number.NEGATIVE_INFINITY;
  const tick = () => {
    if (nowMs() - tickedMs > 2 * TICK_MS) stalledMs = nowMs();
    tickedMs = nowMs();
  };
  const timer = setInterval(tick, TICK_MS).unref();
  return {
    hasStalled(ms) {
      // Of the timers that are due after a stall, this one may be the last.
      tick();
      return nowMs() - stalledMs <= ms;
    },
    stop: () => clearInterval(timer),
  };
}
