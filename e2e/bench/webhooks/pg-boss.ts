import { PgBoss } from "pg-boss";
import postgres from "postgres";
import { serve } from "../remote.ts";
import { readCpuMs, type SenderSettings } from "./programs.ts";
import { createIds, createSignedPost, type SignedPost } from "./signed-post.ts";

/** A program: the same requests as jobs of pg-boss, four workers that fetch and complete batches. */
const QUEUE = "deliver";
const WORKERS = 4;

interface Job {
  id: string;
  body: string;
}

let settings: SenderSettings;
let post: SignedPost;
let boss: PgBoss;
let sql: postgres.Sql;

serve({
  open: async (given: SenderSettings) => {
    settings = given;
    post = createSignedPost(given);
    sql = postgres(given.databaseUrl, { max: 1 });
    boss = new PgBoss({ connectionString: given.databaseUrl, max: 10 });
    boss.on("error", ({ message }) => console.error(`pg-boss: ${message}`));
    await boss.start();
    await boss.createQueue(QUEUE);
  },
  enqueue: async (count: number) => {
    const ids = createIds(count);
    while (ids.length > 0)
      await boss.insert(
        QUEUE,
        ids.splice(0, 1000).map((id) => ({ data: { id, body: settings.body } })),
      );
  },
  start: async () => {
    const batchSize = Math.ceil(settings.concurrency / WORKERS);
    await boss.work<Job>(
      QUEUE,
      { batchSize, localConcurrency: WORKERS, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
      async (jobs) => {
        await Promise.all(jobs.map(({ data }) => post(data.id)));
      },
    );
  },
  countRemaining: async () => {
    const [row] = await sql`
      select count(*)::int as count from pgboss.job where name = ${QUEUE} and state in ('created', 'active', 'retry')`;
    return row?.count;
  },
  stop: () => boss.offWork(QUEUE, { wait: true }),
  readCpuMs,
});
