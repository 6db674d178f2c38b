const SLICE_MS = 10;

let sliceEndsAt = 0;
let turn: Promise<void> | undefined;

/**
 * Resolves at once within a slice of 10 ms, otherwise after one turn of the event loop. Workers that never wait would
 * otherwise block it: no Lease is renewed, no change received, no probe served. Slice and turn are those of the process.
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
