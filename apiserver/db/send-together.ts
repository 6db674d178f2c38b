type Results<Sent extends readonly Promise<unknown>[]> = { [N in keyof Sent]: Awaited<Sent[N]> };

/**
 * The results of statements of one transaction that were sent without waiting for each other: Postgres runs them in the
 * order in which they were called, each after the one before has ended; none may await anything before it sends. Rejects
 * as the first one that failed does, once all have ended: Postgres refuses those after it because of it.
 */
export async function sendTogether<const Sent extends readonly Promise<unknown>[]>(
  ...sent: Sent
): Promise<Results<Sent>> {
  const ended = await Promise.allSettled(sent);
  const results = ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
  return results as Results<Sent>;
}
