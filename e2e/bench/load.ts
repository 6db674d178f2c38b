import type { Pool } from "undici";

export const CONNECTIONS = 16;

/** How much is sent to each side. */
export interface Load {
  /** Batches that are not measured. */
  warmUpBatches: number;
  batches: number;
  /** Requests of one batch. */
  batchSize: number;
  /** Rates have a limit too: they are those of the machine, and say nothing during other work. */
  hasRateLimits: boolean;
}

/** After 12,000 requests the compiler still takes a fifth of the CPU, after 50,000 next to none. */
export const FULL_LOAD: Load = { warmUpBatches: 25, batches: 7, batchSize: 2000, hasRateLimits: true };
/** The compiler's part is in these figures. */
export const SHORT_LOAD: Load = { warmUpBatches: 7, batches: 5, batchSize: 600, hasRateLimits: false };

export interface BenchRequest {
  method: "GET" | "PUT";
  path: string;
  body?: string;
}

/**
 * Sends `count` requests over 16 keep-alive connections, numbered from `first`. Throws for a response other than 200.
 * The pool must have been opened with `connections: CONNECTIONS`.
 */
export async function sendBatch(
  pool: Pool,
  headers: Record<string, string>,
  toRequest: (n: number) => BenchRequest,
  { first, count }: { first: number; count: number },
): Promise<void> {
  let next = first;
  const client = async () => {
    while (next < first + count) {
      const request = toRequest(next++);
      const { statusCode, body } = await pool.request({ ...request, headers });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${request.method} ${request.path}: status ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
}
