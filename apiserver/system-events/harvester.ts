import { z } from "zod";
import { type Event, eventKind } from "../../shared/kube/core-kinds.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createReflector } from "../../shared/kube/reflector.ts";
import { createStore } from "../../shared/kube/store.ts";
import type { Deps } from "../deps.ts";
import { createBatchQueue } from "../jobs/batch-queue.ts";
import { runAsLeader } from "../jobs/leader.ts";
import type { PeriodicJob } from "../jobs/periodic.ts";
import { findClusterIds, findClusterIdsOfPools } from "../projection/store.ts";
import { type HarvestedEvent, harvestEvent } from "./harvest-event.ts";
import { appendEvents, findHarvested, type NewSystemEvent, purgeEvents } from "./store.ts";
import { purgeTickets } from "./tickets.ts";

const BATCH_SIZE = 200;
const RETENTION_DAYS = 7;
const PURGE_EVERY_MS = 60 * 60_000;
const PURGE_TICKETS_EVERY_MS = 60_000;
/** An Event may be seen before the object that it regards is projected; after this long it never will be. */
const PATIENCE_MS = 5 * 60_000;
const RETRY_MS = 1_000;

/**
 * Harvests Kubernetes Events into the streams: one process of all replicas watches what the operator tells of our
 * objects and appends it. Resolves when the signal has aborted and the last write is done.
 */
export function startHarvester(deps: Deps, signal: AbortSignal): { stopped: Promise<void> } {
  const stopped = runAsLeader({ sql: deps.sql, log: deps.log, name: "harvester", signal }, (leading) =>
    harvest(deps, leading),
  );
  return { stopped };
}

/** The jobs that remove events past their retention of seven days, and tickets that nobody used. */
export function systemEventJobs(deps: Deps): PeriodicJob[] {
  return [
    {
      name: "purge-system-events",
      everyMs: PURGE_EVERY_MS,
      run: async () => {
        await purgeEvents(deps.db, RETENTION_DAYS);
      },
    },
    {
      name: "purge-stream-tickets",
      everyMs: PURGE_TICKETS_EVERY_MS,
      run: () => purgeTickets(deps.db),
    },
  ];
}

interface Work {
  key: string;
  event: HarvestedEvent;
  untilMs: number;
}

async function harvest(deps: Deps, signal: AbortSignal): Promise<void> {
  const queue = createBatchQueue<Work>({
    name: "harvester",
    batchSize: BATCH_SIZE,
    // A count that rose is a new event beside the one that may still wait.
    keyOf: ({ key, event }) => `${key} ${event.eventCount}`,
    run: async (batch) => {
      const orphans = await storeEvents(deps, batch);
      const later = orphans.filter(({ untilMs }) => deps.now().getTime() < untilMs);
      if (later.length === 0) return;
      setTimeout(() => {
        for (const work of later) queue.add(work);
      }, RETRY_MS).unref();
    },
    log: deps.log,
    signal,
  });
  createReflector({
    client: deps.kube,
    kind: eventKind,
    store: createStore<Event>(),
    log: deps.log,
    metrics: deps.kubeMetrics,
    onChange: ({ type, object }) => {
      const event = type === "deleted" ? undefined : harvestEvent(object);
      if (event === undefined) return;
      queue.add({ key: objectKey(object), event, untilMs: deps.now().getTime() + PATIENCE_MS });
    },
  }).start(signal);
  await queue.stopped;
}

/** Appends what is new; returns what regards an object that is not known yet. */
async function storeEvents(deps: Deps, batch: readonly Work[]): Promise<Work[]> {
  const stored = await findHarvested(
    deps.db,
    batch.map(({ event }) => event.eventUid),
  );
  const fresh = batch.filter(({ event }) => !stored.has(`${event.eventUid} ${event.eventCount}`));
  if (fresh.length === 0) return [];
  const clusterIds = await findClusterIds(
    deps.db,
    fresh.map(({ event }) => event.regardingUid),
  );
  const clusterIdsOfPools = await findClusterIdsOfPools(
    deps.db,
    fresh.flatMap(({ event }) => (isId(event.nodePoolId) ? [event.nodePoolId] : [])),
  );
  const news = fresh.flatMap(({ event }): NewSystemEvent[] => {
    const clusterId = clusterIds.get(event.regardingUid);
    if (clusterId === undefined) return [];
    const isOwnPool = clusterIdsOfPools.get(event.nodePoolId ?? "") === clusterId;
    const { eventUid, eventCount, payload } = event;
    const nodePoolId = isOwnPool ? (event.nodePoolId ?? null) : null;
    return [{ kind: "system-event", clusterId, nodePoolId, eventUid, eventCount, payload }];
  });
  if (news.length > 0) await deps.db.transaction((tx) => appendEvents(tx, news));
  return fresh.filter(({ event }) => !clusterIds.has(event.regardingUid));
}

/** A label is anybody's text; the database compares identifiers only. */
function isId(text: string | undefined): text is string {
  return z.guid().safeParse(text).success;
}
