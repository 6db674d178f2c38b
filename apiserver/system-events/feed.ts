import type { Logger } from "../../shared/log.ts";
import type { Database, Sql } from "../db/client.ts";
import { describeDatabaseError } from "../db/errors.ts";
import { findServedClusterIds } from "../projection/store.ts";
import type { Piece, Reader } from "./reader.ts";
import { shareRuns } from "./share-runs.ts";
import { findEventRange, SYSTEM_EVENTS_CHANNEL } from "./store.ts";

/** How long announcements are gathered: the clusters of all of them are read in one query. */
const GATHER_MS = 15;
const RETRY_MS = 1_000;
/** An announcement that was lost all the same costs this much. */
const POLL_MS = 15_000;

export interface Listener {
  /** The next events of the cluster, in order; none is left out or said twice. */
  hear(piece: Piece): void;
  /** The cluster is gone; all that was written before has been heard. */
  lose(): void;
}

export interface Seat {
  /** What comes after this event is heard. */
  position: number;
  leave(): void;
}

export interface Feed {
  /** Listens to a cluster from now on. Rejects when the database does not say where "now" is. */
  join(clusterId: string, listener: Listener): Promise<Seat>;
}

interface Channel {
  clusterId: string;
  listeners: Set<Listener>;
  /** Undefined until it is known where the channel begins. */
  position: number | undefined;
  ready: Promise<void>;
  isNews: boolean;
  /** The cluster is gone; one more read finds what was written before it went. */
  isGone: boolean;
}

/**
 * What happens to the clusters that somebody of this process listens to. One LISTEN connection for all: announcements
 * carry cluster ids only, events are read from the table, each once for all listeners of its cluster. After a
 * reconnect every channel is read, for what was announced meanwhile is lost.
 */
export function createFeed(deps: { db: Database; sql: Sql; log: Logger }, reader: Reader): Feed {
  const channels = new Map<string, Channel>();
  const findNewest = shareRuns(async () => (await findEventRange(deps.db)).newest);
  let isListening = false;
  let isReading = false;
  let timer: NodeJS.Timeout | undefined;
  let poll: NodeJS.Timeout | undefined;

  function listen(): void {
    if (isListening) return;
    isListening = true;
    const onNews = (clusterId: string) => {
      const channel = channels.get(clusterId);
      if (channel === undefined) return;
      channel.isNews = true;
      schedule(GATHER_MS);
    };
    deps.sql.listen(SYSTEM_EVENTS_CHANNEL, onNews, wakeAll).catch((error: unknown) => {
      isListening = false;
      warn(deps.log, error, "cannot listen for events");
    });
  }

  function wakeAll(): void {
    for (const channel of channels.values()) channel.isNews = true;
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
    const news = [...channels.values()].filter(({ isNews, position }) => isNews && position !== undefined);
    for (const channel of news) channel.isNews = false;
    let delayMs = GATHER_MS;
    try {
      await Promise.all([...news.map(readChannel), markGone(news)]);
    } catch (error) {
      for (const channel of news) channel.isNews = true;
      warn(deps.log, error, "cannot read events; once more soon");
      delayMs = RETRY_MS;
    }
    isReading = false;
    if ([...channels.values()].some(({ isNews }) => isNews)) schedule(delayMs);
  }

  async function readChannel(channel: Channel): Promise<void> {
    const wasGone = channel.isGone;
    const { piece, isMore } = await reader.read(channel.clusterId, channel.position ?? 0);
    if (piece !== undefined) {
      channel.position = piece.lastId;
      for (const listener of channel.listeners) listener.hear(piece);
    }
    if (isMore) channel.isNews = true;
    else if (wasGone) for (const listener of channel.listeners) listener.lose();
  }

  async function markGone(news: readonly Channel[]): Promise<void> {
    if (news.length === 0) return;
    const served = await findServedClusterIds(
      deps.db,
      news.map(({ clusterId }) => clusterId),
    );
    for (const channel of news) {
      if (channel.isGone || served.has(channel.clusterId)) continue;
      channel.isGone = true;
      channel.isNews = true;
    }
  }

  function openChannel(clusterId: string): Channel {
    const channel: Channel = {
      clusterId,
      listeners: new Set(),
      position: undefined,
      ready: findNewest().then((newest) => {
        channel.position = newest;
        // What was announced before the beginning was known.
        if (channel.isNews) schedule(GATHER_MS);
      }),
      isNews: false,
      isGone: false,
    };
    channels.set(clusterId, channel);
    listen();
    poll ??= setInterval(() => {
      listen();
      wakeAll();
    }, POLL_MS).unref();
    return channel;
  }

  function leave(channel: Channel, listener: Listener): void {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0) return;
    if (channels.get(channel.clusterId) === channel) channels.delete(channel.clusterId);
    if (channels.size > 0) return;
    clearInterval(poll);
    poll = undefined;
  }

  return {
    async join(clusterId, listener) {
      const channel = channels.get(clusterId) ?? openChannel(clusterId);
      channel.listeners.add(listener);
      try {
        await channel.ready;
      } catch (error) {
        leave(channel, listener);
        throw error;
      }
      return { position: channel.position ?? 0, leave: () => leave(channel, listener) };
    },
  };
}

function warn(log: Logger, error: unknown, text: string): void {
  log.warn({ message: describeDatabaseError(error)?.message ?? String(error) }, text);
}
