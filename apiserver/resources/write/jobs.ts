import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import type { Deps } from "../../deps.ts";
import type { PeriodicJob } from "../../work/periodic.ts";
import { findLastSeen, releaseLeases } from "../project/index.ts";
import { findWritten } from "./find-written.ts";
import { listIntentsOf, listStaleIntents, recordWrite, removeIntents } from "./intents.ts";
import { WRITTEN_KINDS } from "./resource.ts";
import type { WriteIntent } from "./table.ts";

const EVERY_MS = 15_000;
/** No write takes this long: its client gives up after 25 s, and reads back for 5 s more. */
const STALE_SECONDS = 60;
const BATCH_SIZE = 50;

/** The job that completes writes whose process ended, or lost the response, before it could. */
export function writeIntentJobs(deps: Deps): PeriodicJob[] {
  return [{ name: "write-intents", everyMs: EVERY_MS, run: (signal) => sweepIntents(deps, signal) }];
}

async function sweepIntents(deps: Deps, signal: AbortSignal): Promise<void> {
  const stale = await listStaleIntents(deps.db, STALE_SECONDS, BATCH_SIZE);
  const byObject = Map.groupBy(stale, ({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
  for (const intents of byObject.values()) {
    if (signal.aborted) return;
    await completeIntents(deps, intents);
  }
}

/** From a live read: writes that had their effect get their audit rows; the other stale ones were never made. */
async function completeIntents({ db, kube, log }: Deps, stale: readonly WriteIntent[]): Promise<void> {
  const [first] = stale;
  if (first === undefined) return;
  // Before the live read: a later write may build on one of these, and then writes its audit row itself.
  const pending = await listIntentsOf(db, first);
  const live = await kube.get(WRITTEN_KINDS[first.kind] as Kind<KubeObject>, first.namespace, first.name);
  const lastSeen = live === undefined ? await findLastSeen(db, first.entry.target.id) : undefined;
  const written = findWritten(pending, { live, lastSeen: lastSeen?.object });
  await db.transaction(async (tx) => {
    for (const intent of written) await recordWrite(tx, intent);
    const unwritten = await removeIntents(tx, stale);
    for (const { entry, verb } of unwritten) if (verb === "create") await releaseLeases(tx, entry.target.id);
  });
  log.info(
    { name: first.name, pending: stale.length, written: written.length },
    "completed writes that were left pending",
  );
}
