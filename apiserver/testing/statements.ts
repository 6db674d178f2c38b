import type { Database } from "../db/client.ts";

type Unsafe = (text: string, values?: readonly unknown[]) => Promise<unknown>;
type Begin = (run: (tx: { unsafe: Unsafe }) => unknown) => unknown;

/** A statement as Drizzle sends it. */
export interface SentStatement {
  text: string;
  values: readonly unknown[];
  isInTransaction: boolean;
}

/**
 * What Drizzle sends while `work` runs, and what that returns. Statements that go out together, while none of before is under way, are
 * one round trip. BEGIN and COMMIT are no statements.
 */
export async function recordStatements<T>(
  databases: readonly Database[],
  work: () => Promise<T>,
): Promise<{ roundTrips: SentStatement[][]; result: T }> {
  const roundTrips: SentStatement[][] = [];
  let underWay = 0;
  const recorded = (send: Unsafe, isInTransaction: boolean): Unsafe => {
    return (text, values = []) => {
      if (underWay === 0) roundTrips.push([]);
      underWay += 1;
      roundTrips.at(-1)?.push({ text, values, isInTransaction });
      const query = send(text, values);
      const end = () => {
        underWay -= 1;
      };
      // Later: a query of postgres.js is sent by its first `then`, and Drizzle says before what it shall return.
      queueMicrotask(() => void query.then(end, end));
      return query;
    };
  };
  const restore = databases.map((db) => {
    const client = (db as Database & { $client: { unsafe: Unsafe; begin: Begin } }).$client;
    const { unsafe, begin } = client;
    client.unsafe = recorded(unsafe, false);
    client.begin = (run) => begin((tx) => run({ ...tx, unsafe: recorded(tx.unsafe, true) }));
    return () => Object.assign(client, { unsafe, begin });
  });
  try {
    return { result: await work(), roundTrips };
  } finally {
    for (const undo of restore) undo();
  }
}
