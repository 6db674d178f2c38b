import type { Deps } from "../../deps.ts";
import { repeatBatches } from "../../work/loop.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { createObjectStore, type ObjectStore } from "./objects/object-store.ts";
import { deleteDiscarded, discardUnbound, listUploadsToRemove, markUploadRemoved } from "./store.ts";
import { finalKey, uploadKey } from "./stored-file.ts";

const EVERY_MS = 5 * 60_000;
/** Longer than an upload may take: what is removed cannot come back. */
const UNBOUND_MS = 60 * 60_000;
/** What was announced within a day counts in the limit of a day, used or not. */
const COUNTED_MS = 24 * 60 * 60_000;
const BATCH = 100;

type JobDeps = Pick<Deps, "config" | "db" | "now">;

/**
 * Removes the objects of attachments that no message has taken within an hour, after a day their rows, and the uploaded
 * objects of all others. Without a store there are none. While the store is not available the jobs fail and are tried again.
 */
export function attachmentJobs(deps: JobDeps): PeriodicJob[] {
  const { attachmentStorage } = deps.config;
  if (attachmentStorage === undefined) return [];
  const store = createObjectStore(attachmentStorage, deps.now);
  return [
    {
      name: "unbound-ticket-attachments",
      everyMs: EVERY_MS,
      run: (signal) => sweepUnbound(deps, store, signal),
    },
    {
      name: "uploads-of-ticket-attachments",
      everyMs: EVERY_MS,
      run: (signal) => sweepUploads(deps, store, signal),
    },
  ];
}

async function sweepUnbound({ db, now }: JobDeps, store: ObjectStore, signal: AbortSignal): Promise<void> {
  await repeatBatches(BATCH, signal, async () => {
    const at = now();
    const rows = await discardUnbound(db, new Date(at.getTime() - UNBOUND_MS), at, BATCH);
    for (const row of rows) {
      if (signal.aborted) break;
      await store.remove(uploadKey(row));
      await store.remove(finalKey(row));
      await markUploadRemoved(db, row);
    }
    return rows.length;
  });
  await repeatBatches(BATCH, signal, async () => {
    const before = new Date(now().getTime() - COUNTED_MS);
    return (await deleteDiscarded(db, before, BATCH)).length;
  });
}

async function sweepUploads({ db, now }: JobDeps, store: ObjectStore, signal: AbortSignal): Promise<void> {
  await repeatBatches(BATCH, signal, async () => {
    const rows = await listUploadsToRemove(db, new Date(now().getTime() - UNBOUND_MS), BATCH);
    for (const row of rows) {
      if (signal.aborted) break;
      await store.remove(uploadKey(row));
      await markUploadRemoved(db, row);
    }
    return rows.length;
  });
}
