import type { Database, Queryable } from "./client.ts";

/** Thrown to roll a transaction back; never leaves this file. */
class Rollback extends Error {}

/** Runs `work` with all its checks in a transaction that is rolled back. Throws what `work` throws. */
export async function runThenRollBack<T>(db: Database, work: (tx: Queryable) => Promise<T>): Promise<T> {
  let result: { value: T } | undefined;
  try {
    await db.transaction(async (tx) => {
      result = { value: await work(tx) };
      throw new Rollback();
    });
  } catch (error) {
    if (!(error instanceof Rollback)) throw error;
  }
  if (result === undefined) throw new Error("the transaction ended without a result");
  return result.value;
}
