import type { Deps } from "../../deps.ts";
import { repeatBatches } from "../../work/loop.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { StoreError, type StoreFailure } from "./objects/http.ts";
import { createObjectStore, type ObjectStore } from "./objects/object-store.ts";
import {
  deleteDiscarded,
  discardUnbound,
  listUploadsToRemove,
  markUploadRemoved,
  type SweptAttachment,
  type SweptPage,
} from "./store.ts";
import { finalKey, uploadKey } from "./stored-file.ts";

const EVERY_MS = 5 * 60_000;
/** Longer than an upload may take: what is removed cannot come back. */
const UNBOUND_MS = 60 * 60_000;
/** What was announced within a day counts in the limit of a day, used or not. */
const COUNTED_MS = 24 * 60 * 60_000;
const BATCH = 100;
/** The store is there: a lock of an object, or a policy, can refuse one alone. */
const OF_ONE_OBJECT: ReadonlySet<StoreFailure> = new Set(["refused", "failed"]);

type JobDeps = Pick<Deps, "config" | "db" | "now">;

/**
 * Removes the objects of attachments that no message has taken within an hour, after a day their rows, and the uploaded
 * objects of all others. Without a store there are none. While the store is not available the jobs fail and are tried again; one object
 * that it does not remove holds up no other, and the job fails at the end.
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
  try {
    await sweep({ db, now }, signal, {
      list: (page) => discardUnbound(db, now(), page),
      async remove(row) {
        await store.remove(uploadKey(row));
        await store.remove(finalKey(row));
      },
    });
  } finally {
    await repeatBatches(BATCH, signal, async () => {
      const before = new Date(now().getTime() - COUNTED_MS);
      return (await deleteDiscarded(db, before, BATCH)).length;
    });
  }
}

async function sweepUploads({ db, now }: JobDeps, store: ObjectStore, signal: AbortSignal): Promise<void> {
  await sweep({ db, now }, signal, {
    list: (page) => listUploadsToRemove(db, page),
    remove: (row) => store.remove(uploadKey(row)),
  });
}

interface Sweep {
  list: (page: SweptPage) => Promise<SweptAttachment[]>;
  remove: (row: SweptAttachment) => Promise<void>;
}

/** Tries each attachment once. Throws what the first threw that could not be removed: at the end where that may concern it alone. */
async function sweep(
  { db, now }: Pick<JobDeps, "db" | "now">,
  signal: AbortSignal,
  { list, remove }: Sweep,
): Promise<void> {
  let after: SweptAttachment | undefined;
  const failures: StoreError[] = [];
  await repeatBatches(BATCH, signal, async () => {
    const rows = await list({ before: new Date(now().getTime() - UNBOUND_MS), after, limit: BATCH });
    after = rows.at(-1);
    for (const row of rows) {
      if (signal.aborted) break;
      try {
        await remove(row);
        await markUploadRemoved(db, row);
      } catch (error) {
        if (!(error instanceof StoreError && OF_ONE_OBJECT.has(error.failure))) throw error;
        failures.push(error);
      }
    }
    return rows.length;
  });
  if (failures[0] !== undefined) throw failures[0];
}
