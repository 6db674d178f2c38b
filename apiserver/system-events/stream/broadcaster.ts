import type { Logger } from "../../../shared/program/log.ts";
import type { Database, Sql } from "../../db/client.ts";
import { describeDatabaseError } from "../../db/errors.ts";
import { type EventRange, FEED_CHANNEL, type FeedKey } from "../../events/feed.ts";
import { findServedClusterIds } from "../../resources/project/index.ts";
import type { Chunk, EventReader } from "./event-reader.ts";

/** How long notifications are gathered before the clusters named in them are read. */
const GATHER_MS = 15;
const RETRY_MS = 1_000;
/** All clusters are read this often, in case a notification was lost. */
const POLL_MS = 15_000;

export interface Subscriber {
  /** The next events of the cluster, in order, none missing and none repeated. */
  onEvents(chunk: Chunk): void;
  /** The cluster is deleted, and all its events have been delivered. */
  onDeleted(): void;
}

export interface Subscription {
  /** Events after this id are delivered. */
  position: number;
  unsubscribe(): void;
}

export interface Broadcaster {
  /** Delivers the events of a cluster from now on. Rejects when the database does not return the newest id. */
  subscribe(feed: FeedKey, subscriber: Subscriber): Promise<Subscription>;
}

interface Channel extends FeedKey {
  subscribers: Set<Subscriber>;
  /** Undefined until the newest id was read. */
  position: number | undefined;
  ready: Promise<void>;
  hasNews: boolean;
  /** The cluster is deleted; one more read finds the events written before that. */
  isDeleted: boolean;
}

/**
 * Broadcasts events to the streams of this process. One LISTEN connection for all: notifications carry cluster ids
 * only, events are read from the table, once for all subscribers of a cluster. After a reconnect every channel is read,
 * since notifications in between are lost.
 */
export function createBroadcaster(
  deps: { db: Database; sql: Sql; log: Logger },
  reader: EventReader,
  readRange: (clusterId: string) => Promise<EventRange>,
): Broadcaster {
  const channels = new Map<string, Channel>();
  let isListening = false;
  let isReading = false;
  let timer: NodeJS.Timeout | undefined;
  let poll: NodeJS.Timeout | undefined;

  function listen(): void {
    if (isListening) return;
    isListening = true;
    const onNotification = (clusterId: string) => {
      const channel = channels.get(clusterId);
      if (channel === undefined) return;
      channel.hasNews = true;
      schedule(GATHER_MS);
    };
    deps.sql.listen(FEED_CHANNEL, onNotification, readAll).catch((error: unknown) => {
      isListening = false;
      warn(deps.log, error, "cannot listen for events");
    });
  }

  function readAll(): void {
    for (const channel of channels.values()) channel.hasNews = true;
    schedule(GATHER_MS);
  }

  function schedule(delayMs: number): void {
    if (timer !== undefined || isReading) return;
    timer = setTimeout(() => {
      timer = undefined;
      void readNews();
    }, delayMs).unref();
  }

  async function readNews(): Promise<void> {
    isReading = true;
    const pending = [...channels.values()].filter(
      ({ hasNews, position }) => hasNews && position !== undefined,
    );
    for (const channel of pending) channel.hasNews = false;
    let delayMs = GATHER_MS;
    try {
      await Promise.all([...pending.map(readChannel), markDeleted(pending)]);
    } catch (error) {
      for (const channel of pending) channel.hasNews = true;
      warn(deps.log, error, "cannot read events; retrying shortly");
      delayMs = RETRY_MS;
    }
    isReading = false;
    if ([...channels.values()].some(({ hasNews }) => hasNews)) schedule(delayMs);
  }

  async function readChannel(channel: Channel): Promise<void> {
    const wasDeleted = channel.isDeleted;
    const { chunk, isMore } = await reader.read(channel, channel.position ?? 0);
    if (chunk !== undefined) {
      channel.position = chunk.lastId;
      for (const subscriber of channel.subscribers) subscriber.onEvents(chunk);
    }
    if (isMore) channel.hasNews = true;
    else if (wasDeleted) for (const subscriber of channel.subscribers) subscriber.onDeleted();
  }

  async function markDeleted(pending: readonly Channel[]): Promise<void> {
    if (pending.length === 0) return;
    const existing = await findServedClusterIds(
      deps.db,
      pending.map(({ clusterId }) => clusterId),
    );
    for (const channel of pending) {
      if (channel.isDeleted || existing.has(channel.clusterId)) continue;
      channel.isDeleted = true;
      channel.hasNews = true;
    }
  }

  function openChannel({ orgId, clusterId }: FeedKey): Channel {
    const channel: Channel = {
      orgId,
      clusterId,
      subscribers: new Set(),
      position: undefined,
      ready: readRange(clusterId).then(({ newest }) => {
        channel.position = newest;
        // Notifications that arrived before the position was known.
        if (channel.hasNews) schedule(GATHER_MS);
      }),
      hasNews: false,
      isDeleted: false,
    };
    channels.set(clusterId, channel);
    listen();
    poll ??= setInterval(() => {
      listen();
      readAll();
    }, POLL_MS).unref();
    return channel;
  }

  function unsubscribe(channel: Channel, subscriber: Subscriber): void {
    channel.subscribers.delete(subscriber);
    if (channel.subscribers.size > 0) return;
    if (channels.get(channel.clusterId) === channel) channels.delete(channel.clusterId);
    if (channels.size > 0) return;
    clearInterval(poll);
    poll = undefined;
  }

  return {
    async subscribe(feed, subscriber) {
      // A cluster is of one organization alone, which the caller has looked up.
      const channel = channels.get(feed.clusterId) ?? openChannel(feed);
      channel.subscribers.add(subscriber);
      try {
        await channel.ready;
      } catch (error) {
        unsubscribe(channel, subscriber);
        throw error;
      }
      return { position: channel.position ?? 0, unsubscribe: () => unsubscribe(channel, subscriber) };
    },
  };
}

function warn(log: Logger, error: unknown, text: string): void {
  log.warn({ message: describeDatabaseError(error)?.message ?? String(error) }, text);
}
