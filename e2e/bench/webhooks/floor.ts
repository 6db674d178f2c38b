import { serve } from "../remote.ts";
import { readCpuMs, type SenderSettings } from "./programs.ts";
import { createIds, createSignedPost, type SignedPost } from "./signed-post.ts";

/** A program: a loop of the same requests without a database. */
let post: SignedPost;
let concurrency = 0;
let ids: string[] = [];
let running = 0;

async function loop(): Promise<void> {
  running += 1;
  for (let id = ids.pop(); id !== undefined; id = ids.pop()) await post(id);
  running -= 1;
}

serve({
  open: (settings: SenderSettings) => {
    post = createSignedPost(settings);
    concurrency = settings.concurrency;
  },
  enqueue: (count: number) => {
    ids = createIds(count);
  },
  start: () => {
    for (let n = 0; n < concurrency; n++) void loop();
  },
  countRemaining: () => ids.length + running,
  stop: () => undefined,
  readCpuMs,
});
