/**
 * For `vi.waitFor` and `expect.poll` in a unit test: less than the test's own deadline, so that their error is
 * reported.
 */
export const PATIENT = { timeout: 60_000 };

const FIRST_DEADLINE_MS = 300;
const LAST_DEADLINE_MS = 8_000;

/**
 * Tries with a deadline, and with one three times as long for as long as the result says that it was over too early: on
 * a machine of any speed, what has to come before a deadline does. Returns the last result after 12 s.
 */
export async function tryWithLongerDeadlines<T>(
  attempt: (deadlineMs: number) => Promise<T>,
  isTooEarly: (result: T) => boolean,
): Promise<T> {
  for (let deadlineMs = FIRST_DEADLINE_MS; ; deadlineMs *= 3) {
    const result = await attempt(deadlineMs);
    if (deadlineMs > LAST_DEADLINE_MS || !isTooEarly(result)) return result;
  }
}
