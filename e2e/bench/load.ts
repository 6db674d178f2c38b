import type { Pool } from "undici";

export const CONNECTIONS = 16;
/** After 12,000 requests the compiler still takes a fifth of the CPU, after 50,000 next to none. */
export const WARM_UP_BATCHES = 25;
export const BATCHES = 7;
/** Requests of one batch. */
export const BATCH_SIZE = 2000;

export interface BenchRequest {
  method: "GET" | "PUT";
  path: string;
  body?: string;
}

/**
 * Sends one batch over 16 keep-alive connections, numbered from `first`. Throws for a response other than 200.
 * The pool must have been opened with `connections: CONNECTIONS`.
 */
export async function sendBatch(
  pool: Pool,
  headers: Record<string, string>,
  toRequest: (n: number) => BenchRequest,
  first: number,
): Promise<void> {
  let next = first;
  const client = async () => {
    while (next < first + BATCH_SIZE) {
      const request = toRequest(next++);
      const { statusCode, body } = await pool.request({ ...request, headers });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${request.method} ${request.path}: status ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
}
