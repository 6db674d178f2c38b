import { messageOf } from "../../../shared/program/errors.ts";
import { createId, NIL_ID } from "../../../shared/program/id.ts";
import type { Queryable } from "../../db/client.ts";
import type { Deps } from "../../deps.ts";
import { findLastSyncedAt } from "../../resources/project/index.ts";
import { applyEvidence, type LatestIntervals, type LedgerChanges } from "./apply-evidence.ts";
import type { Evidence, NewEvidence } from "./evidence.ts";
import {
  lockLedger,
  readLatestIntervals,
  readRunningMachines,
  readSeenAt,
  writeLedger,
  writeSeenAt,
} from "./ledger-store.ts";
import type { LedgerMetrics } from "./metrics.ts";
import { findClusterEvidence, findMachineEvidence } from "./object-evidence.ts";
import {
  type CheckedSource,
  listChangedSources,
  readSeenClusters,
  readSeenPools,
  type SourceKind,
  upsertSources,
} from "./source-store.ts";

/** Objects in one transaction; a pool has up to 1,200 machines. */
const BATCH_SIZE = 50;

export type LedgerDeps = Pick<Deps, "db" | "log" | "now"> & { ledgerMetrics: LedgerMetrics };

/**
 * Writes to the ledger what is projected of Clusters and NodePools and not in it yet. Safe to run twice, also at once.
 * An object that cannot be written is logged and left for the next round.
 */
export async function runRound(deps: LedgerDeps, signal: AbortSignal): Promise<void> {
  const seenAt = await findLastSyncedAt(deps.db);
  let isComplete = true;
  for (const kind of ["cluster", "node_pool"] as const)
    for await (const uids of changedSources(deps.db, kind, signal))
      if (!(await recordOrLog(deps, kind, uids))) isComplete = false;
  if (!isComplete || signal.aborted || seenAt === undefined) return;
  await writeSeenAt(deps.db, seenAt);
  deps.ledgerMetrics.onRound(seenAt);
}

async function* changedSources(
  db: Queryable,
  kind: SourceKind,
  signal: AbortSignal,
): AsyncGenerator<string[]> {
  let cursor: string | undefined = NIL_ID;
  while (cursor !== undefined && !signal.aborted) {
    const uids: string[] = await listChangedSources(db, kind, { cursor, limit: BATCH_SIZE });
    if (uids.length > 0) yield uids;
    cursor = uids.length === BATCH_SIZE ? uids.at(-1) : undefined;
  }
}

/** When a batch fails, each object is tried alone. Returns whether all were written. */
async function recordOrLog(deps: LedgerDeps, kind: SourceKind, uids: readonly string[]): Promise<boolean> {
  try {
    await recordSources(deps, kind, uids);
    return true;
  } catch (error) {
    if (uids.length === 1) {
      const message = messageOf(error);
      deps.log.warn({ kind, uid: uids[0], message }, "usage of an object is not in the ledger yet");
      return false;
    }
  }
  const results: boolean[] = [];
  for (const uid of uids) results.push(await recordOrLog(deps, kind, [uid]));
  return results.every(Boolean);
}

async function recordSources(deps: LedgerDeps, kind: SourceKind, uids: readonly string[]): Promise<void> {
  const now = deps.now();
  const evidence = await deps.db.transaction(async (tx) => {
    await lockLedger(tx);
    const checked = kind === "cluster" ? await checkClusters(tx, uids, now) : await checkPools(tx, uids, now);
    await writeLedger(tx, checked.evidence, checked.changes, now);
    await upsertSources(tx, checked.versions);
    return checked.evidence;
  });
  deps.ledgerMetrics.onEvidence(evidence);
}

interface CheckedBatch {
  versions: CheckedSource[];
  evidence: Evidence[];
  changes: LedgerChanges;
}

async function checkClusters(tx: Queryable, uids: readonly string[], now: Date): Promise<CheckedBatch> {
  const sources = await readSeenClusters(tx, uids);
  const latest = await readLatestIntervals(
    tx,
    sources.map(({ seen }) => seen.clusterId),
  );
  return checkSources(sources, latest, (seen) => findClusterEvidence(seen, latest, now));
}

async function checkPools(tx: Queryable, uids: readonly string[], now: Date): Promise<CheckedBatch> {
  const sources = await readSeenPools(tx, uids);
  const lastSeenAt = (await readSeenAt(tx)) ?? now;
  const runningByPool = await readRunningMachines(
    tx,
    sources.map(({ seen }) => seen.nodePoolId),
  );
  const listed = sources.flatMap(({ seen: { object } }) =>
    [...(object.status?.machines ?? []), ...(object.status?.goneMachines ?? [])].map(({ uid }) => uid),
  );
  const running = [...runningByPool.values()].flatMap((machines) => [...machines]);
  const latest = await readLatestIntervals(tx, [...new Set([...listed, ...running])]);
  return checkSources(sources, latest, (seen) => {
    const ofPool = runningByPool.get(seen.nodePoolId) ?? new Set<string>();
    return findMachineEvidence(seen, { latest, running: ofPool, lastSeenAt }, now);
  });
}

function checkSources<SeenObject>(
  sources: readonly { seen: SeenObject; version: CheckedSource; isReplaced: boolean }[],
  latest: LatestIntervals,
  find: (seen: SeenObject) => NewEvidence[],
): CheckedBatch {
  const batch: CheckedBatch = { versions: [], evidence: [], changes: { opened: [], ended: [] } };
  for (const { seen, version, isReplaced } of sources) {
    batch.versions.push(version);
    const evidence = isReplaced ? [] : find(seen).map((item) => ({ ...item, id: createId() }));
    const { opened, ended } = applyEvidence(latest, evidence, createId);
    batch.evidence.push(...evidence);
    batch.changes.opened.push(...opened);
    batch.changes.ended.push(...ended);
  }
  return batch;
}
