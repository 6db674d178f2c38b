import type { Logger } from "../../shared/log.ts";
import type { Sql } from "../db/client.ts";
import { SYSTEM_EVENTS_CHANNEL } from "./store.ts";

/** A reader's place at the feed: it is woken whenever its cluster may have something new. */
export interface Subscription {
  /** True at the next news (at once when there was some since the last call), false at the timeout or the abort. */
  next(timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /** As if there were news. */
  wake(): void;
  close(): void;
}

export interface Feed {
  subscribe(clusterId: string): Subscription;
}

/**
 * One LISTEN connection for all streams of this process, opened with the first of them. Announcements carry cluster
 * ids only; events are read from the table. After a reconnect everybody is woken, for what was announced meanwhile
 * is lost.
 */
export function createFeed(deps: { sql: Sql; log: Logger }): Feed {
  const readers = new Map<string, Set<() => void>>();
  let listening = false;

  function wake(clusterId: string): void {
    for (const reader of readers.get(clusterId) ?? []) reader();
  }

  function listen(): void {
    if (listening) return;
    listening = true;
    const onListen = () => [...readers.keys()].forEach(wake);
    deps.sql.listen(SYSTEM_EVENTS_CHANNEL, wake, onListen).catch((error: unknown) => {
      listening = false;
      deps.log.warn(
        { message: error instanceof Error ? error.message : String(error) },
        "cannot listen for events",
      );
    });
  }

  return {
    subscribe(clusterId) {
      let isNews = true;
      let hear = () => {};
      const wakeReader = () => {
        isNews = true;
        hear();
      };
      readers.set(clusterId, (readers.get(clusterId) ?? new Set()).add(wakeReader));
      listen();
      return {
        wake: wakeReader,
        next(timeoutMs, signal) {
          listen();
          return new Promise((resolve) => {
            const end = () => {
              clearTimeout(timer);
              signal.removeEventListener("abort", end);
              hear = () => {};
              resolve(isNews);
              isNews = false;
            };
            const timer = setTimeout(end, timeoutMs);
            signal.addEventListener("abort", end, { once: true });
            hear = end;
            if (isNews || signal.aborted) end();
          });
        },
        close() {
          const others = readers.get(clusterId);
          others?.delete(wakeReader);
          if (others?.size === 0) readers.delete(clusterId);
        },
      };
    },
  };
}
