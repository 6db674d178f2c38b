import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from "graphile-worker";
import postgres from "postgres";
import { serve } from "../remote.ts";
import { readCpuMs, type SenderSettings } from "./programs.ts";
import { createIds, createSignedPost, type SignedPost } from "./signed-post.ts";

/** A program: the same requests as jobs of graphile-worker, fetched and completed in batches. */
const TASK = "deliver";
const LOCAL_QUEUE_SIZE = 500;
const BATCH_DELAY_MS = 10;

interface Job {
  id: string;
  body: string;
}

const logger = new Logger(() => () => undefined);
let settings: SenderSettings;
let post: SignedPost;
let utils: WorkerUtils;
let sql: postgres.Sql;
let runner: Runner | undefined;

serve({
  open: async (given: SenderSettings) => {
    settings = given;
    post = createSignedPost(given);
    sql = postgres(given.databaseUrl, { max: 1 });
    utils = await makeWorkerUtils({ connectionString: given.databaseUrl, logger });
    await utils.migrate();
  },
  enqueue: async (count: number) => {
    const ids = createIds(count);
    while (ids.length > 0)
      await utils.addJobs(
        ids.splice(0, 1000).map((id) => ({ identifier: TASK, payload: { id, body: settings.body } })),
      );
  },
  start: async () => {
    runner = await run({
      connectionString: settings.databaseUrl,
      concurrency: settings.concurrency,
      noHandleSignals: true,
      logger,
      taskList: { [TASK]: (job) => post((job as Job).id) },
      preset: {
        worker: {
          maxPoolSize: 10,
          localQueue: { size: LOCAL_QUEUE_SIZE },
          completeJobBatchDelay: BATCH_DELAY_MS,
          failJobBatchDelay: BATCH_DELAY_MS,
        },
      },
    });
  },
  countRemaining: async () => {
    const [row] = await sql`select count(*)::int as count from graphile_worker.jobs`;
    return row?.count;
  },
  stop: async () => {
    await runner?.stop();
  },
  readCpuMs,
});
