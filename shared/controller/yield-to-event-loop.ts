const SLICE_MS = 10;

let sliceEndsAt = 0;
let turn: Promise<void> | undefined;

/**
 * Resolves at once within a slice of 10 ms, else after the event loop has gone round once. Work that waits for nothing
 * would else keep it for as long as there is more: no Lease renewed, no change seen, no probe answered. Slice and turn
 * are those of the process, as the loop is.
 */
export function yieldToEventLoop(): Promise<void> {
  if (performance.now() < sliceEndsAt) return Promise.resolve();
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      sliceEndsAt = performance.now() + SLICE_MS;
      resolve();
    });
  });
  return turn;
}
