import { type Event, eventKind } from "../../../shared/kube/core-kinds.ts";
import { objectKey } from "../../../shared/kube/object.ts";
import { createReflector } from "../../../shared/kube/reflector.ts";
import { createStore } from "../../../shared/kube/store.ts";
import { isId } from "../../../shared/program/id.ts";
import type { Deps } from "../../deps.ts";
import { appendFeedEvents, findHarvested, type NewSystemEvent } from "../../events/feed.ts";
import { findClusterIdsOfPools, findProjectedPlaces } from "../../resources/project/index.ts";
import { createBatchQueue } from "../../work/batch-queue.ts";
import { runAsLeader } from "../../work/leader.ts";
import { type HarvestedEvent, harvestEvent, isMachineKind } from "./harvest-event.ts";

const BATCH_SIZE = 200;
/** An Event can arrive before the object that it regards is projected; after this time it is dropped. */
const MAX_WAIT_MS = 5 * 60_000;
const RETRY_MS = 1_000;

/**
 * Harvests Kubernetes Events: one process of all replicas watches the Events that the operator writes about our objects
 * and appends them to the feed. Resolves when the signal has aborted and the last write is done.
 */
export function startHarvester(deps: Deps, signal: AbortSignal): { stopped: Promise<void> } {
  const stopped = runAsLeader({ sql: deps.sql, log: deps.log, name: "harvester", signal }, (leading) =>
    harvest(deps, leading),
  );
  return { stopped };
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
    // A higher count is a separate event, in addition to one that may still be waiting.
    keyOf: ({ key, event }) => `${key} ${event.eventCount}`,
    run: async (batch) => {
      const unassigned = await storeEvents(deps, batch);
      const retried = unassigned.filter(({ untilMs }) => deps.now().getTime() < untilMs);
      if (retried.length === 0) return;
      setTimeout(() => {
        for (const work of retried) queue.add(work);
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
      queue.add({ key: objectKey(object), event, untilMs: deps.now().getTime() + MAX_WAIT_MS });
    },
  }).start(signal);
  await queue.stopped;
}

/** Appends new events; returns those that regard an object that is not projected yet. */
async function storeEvents(deps: Deps, batch: readonly Work[]): Promise<Work[]> {
  const stored = await findHarvested(
    deps.db,
    batch.map(({ event }) => event.eventUid),
  );
  const fresh = batch.filter(({ event }) => !stored.has(`${event.eventUid} ${event.eventCount}`));
  if (fresh.length === 0) return [];
  const places = await findProjectedPlaces(
    deps.db,
    fresh.map(({ event }) => event.regardingUid),
  );
  const placeOf = ({ event }: Work) => {
    const place = places.get(event.regardingUid);
    return place?.namespace === event.namespace ? place : undefined;
  };
  const clusterIdsOfPools = await findClusterIdsOfPools(
    deps.db,
    fresh.flatMap(({ event }) => (isId(event.nodePoolId) ? [event.nodePoolId] : [])),
  );
  const events = fresh.flatMap((work): NewSystemEvent[] => {
    const place = placeOf(work);
    if (place === undefined) return [];
    const { orgId, clusterId } = place;
    const { eventUid, eventCount, payload: written, nodePoolId: labelled } = work.event;
    const { kind, name } = written.object;
    const object = { kind, name: isMachineKind(kind) ? name : place.displayName };
    const payload = { ...written, object };
    const isOwnPool = clusterIdsOfPools.get(labelled ?? "") === clusterId;
    const nodePoolId = isOwnPool ? (labelled ?? null) : null;
    return [{ kind: "system-event", orgId, clusterId, nodePoolId, eventUid, eventCount, payload }];
  });
  if (events.length > 0) await deps.db.transaction((tx) => appendFeedEvents(tx, events));
  return fresh.filter(({ event }) => !places.has(event.regardingUid));
}
