import type { Stack } from "../platform/stack/stack.ts";
import { waitFor } from "../platform/stack/testing.ts";

/**
 * Starts Postgres after it was killed: its backends end a moment after it, and until then it cannot use their memory.
 */
export async function startPostgres(stack: Stack): Promise<void> {
  const database = stack.part("postgres");
  await waitFor("Postgres to start", () => database.start().then(() => true));
}
