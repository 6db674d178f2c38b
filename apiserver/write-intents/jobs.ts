import { and, asc, eq, inArray, sql } from "drizzle-orm";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import type { Kind, KubeObject } from "../../shared/kube/kind.ts";
import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../jobs/periodic.ts";
import { findLastSeen, releaseLeases } from "../projection/store.ts";
import { findWritten } from "./find-written.ts";
import { tellOf } from "./store.ts";
import { type WriteIntent, writeIntents } from "./table.ts";

const EVERY_MS = 15_000;
/** No write is under way for so long: its client gives up after 25 s, and reads back for 5 s more. */
const STALE_SECONDS = 60;
const BATCH = 50;

const KINDS = { Cluster: clusterKind, NodePool: nodePoolKind, ClusterAccess: clusterAccessKind } as const;

/** The job that tells of the writes whose process died, or lost the answer, before it could. */
export function writeIntentJobs(deps: Deps): PeriodicJob[] {
  return [{ name: "write-intents", everyMs: EVERY_MS, run: (signal) => sweepIntents(deps, signal) }];
}

async function sweepIntents(deps: Deps, signal: AbortSignal): Promise<void> {
  const stale = await deps.db
    .select()
    .from(writeIntents)
    .where(sql`${writeIntents.startedAt} < now() - make_interval(secs => ${STALE_SECONDS})`)
    .orderBy(asc(writeIntents.startedAt))
    .limit(BATCH);
  const byObject = Map.groupBy(stale, ({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
  for (const intents of byObject.values()) {
    if (signal.aborted) return;
    await settle(deps, intents);
  }
}

/** From a live read: what has had its effect is told of, and the rest of the stale ones never happened. */
async function settle({ db, kube, log }: Deps, stale: readonly WriteIntent[]): Promise<void> {
  const [first] = stale;
  if (first === undefined) return;
  // Before the read: a write that comes after it may build on one of these, and tells of it then.
  const pending = await db.select().from(writeIntents).where(isOf(first));
  const live = await kube.get(KINDS[first.kind] as Kind<KubeObject>, first.namespace, first.name);
  const lastSeen = live === undefined ? await findLastSeen(db, first.entry.target.id) : undefined;
  const written = findWritten(pending, { live, lastSeen: lastSeen?.object });
  await db.transaction(async (tx) => {
    for (const intent of written) await tellOf(tx, intent);
    const ids = stale.map(({ id }) => id);
    const unwritten = await tx.delete(writeIntents).where(inArray(writeIntents.id, ids)).returning();
    for (const { entry, verb } of unwritten) if (verb === "create") await releaseLeases(tx, entry.target.id);
  });
  log.info(
    { name: first.name, pending: stale.length, written: written.length },
    "settled what was left pending",
  );
}

function isOf({ kind, namespace, name }: WriteIntent) {
  return and(eq(writeIntents.kind, kind), eq(writeIntents.namespace, namespace), eq(writeIntents.name, name));
}
