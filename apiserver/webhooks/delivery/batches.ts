/** Rows changed by one statement, so that no lock is held for long. */
export const BATCH_SIZE = 500;

/** Repeats a statement that changes at most BATCH_SIZE rows, until it changes fewer or the signal aborts. */
export async function repeatInBatches(
  signal: AbortSignal,
  changeBatch: () => PromiseLike<readonly unknown[]>,
): Promise<void> {
  while (!signal.aborted) {
    const changed = await changeBatch();
    if (changed.length < BATCH_SIZE) return;
  }
}
