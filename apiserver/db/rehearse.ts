import type { Database, Queryable } from "./client.ts";

/** Ends a transaction without effect; it never leaves this file. */
class Undo extends Error {}

/** Runs a transaction with every check that it makes, and undoes it. Throws what `work` throws. */
export async function rehearse<T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> {
  let outcome: { value: T } | undefined;
  try {
    await db.transaction(async (tx) => {
      outcome = { value: await work(tx) };
      throw new Undo();
    });
  } catch (error) {
    if (!(error instanceof Undo)) throw error;
  }
  if (outcome === undefined) throw new Error("a rehearsal ended without an outcome");
  return outcome.value;
}
