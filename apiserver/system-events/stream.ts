import type { Feed, Subscription } from "./feed.ts";
import { presentEvent } from "./present-event.ts";
import { formatMessage, HEARTBEAT, RETRY } from "./sse.ts";
import type { EventRow } from "./store.ts";

const PAGE_SIZE = 100;
const HEARTBEAT_MS = 15_000;
const ACCESS_CHECK_MS = 30_000;

/** What a stream asks of the world around it. */
export interface StreamSource {
  feed: Feed;
  clusterId: string;
  /** The position to go on from; undefined begins with what comes next. */
  lastEventId: number | undefined;
  /** When the credential ends. */
  expiresAtMs: number;
  now(): number;
  readRange(): Promise<{ oldest: number; newest: number }>;
  readAfter(position: number, limit: number): Promise<EventRow[]>;
  isClusterGone(): Promise<boolean>;
  mayRead(): Promise<boolean>;
  /** The program is about to end. */
  closing: AbortSignal;
}

/**
 * The text of one client's stream, piece by piece: what the client missed, then what happens, a comment every 15 s,
 * and at the end `deleted` (the cluster is gone) or `bye` (come again: the credential ended, access was withdrawn,
 * the program ends). Nothing is read before the piece before was taken, so a slow client holds one page in memory.
 */
export async function* streamEvents(source: StreamSource, signal: AbortSignal): AsyncGenerator<string> {
  const subscription = source.feed.subscribe(source.clusterId);
  const onClosing = () => subscription.wake();
  source.closing.addEventListener("abort", onClosing, { once: true });
  try {
    yield RETRY;
    const start = await findStart(source);
    if (start.gap !== undefined) yield start.gap;
    yield* follow(source, subscription, start.position, signal);
  } finally {
    source.closing.removeEventListener("abort", onClosing);
    subscription.close();
  }
}

async function* follow(
  source: StreamSource,
  subscription: Subscription,
  start: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let position = start;
  let accessCheckedMs = source.now();
  while (!signal.aborted) {
    // Asked before the page is read: what was written before the cluster went is still delivered.
    const isGone = await source.isClusterGone();
    const rows = await source.readAfter(position, PAGE_SIZE);
    const last = rows.at(-1);
    if (last !== undefined) {
      position = last.id;
      yield rows.map(toMessage).join("");
    }
    if (rows.length === PAGE_SIZE) continue;
    if (isGone) return yield formatMessage({ event: "deleted", data: { cluster_id: source.clusterId } });
    if (source.now() - accessCheckedMs >= ACCESS_CHECK_MS) {
      if (!(await source.mayRead())) return yield formatBye("access_withdrawn");
      accessCheckedMs = source.now();
    }
    if (source.closing.aborted) return yield formatBye("shutting_down");
    if (source.now() >= source.expiresAtMs) return yield formatBye("token_expired");
    const untilExpiryMs = source.expiresAtMs - source.now();
    const isNews = await subscription.next(Math.min(HEARTBEAT_MS, untilExpiryMs), signal);
    if (!isNews && !signal.aborted) yield HEARTBEAT;
  }
}

/** An id that is older than what is kept, or newer than all there is, cannot be resumed from: the client is told. */
async function findStart(source: StreamSource): Promise<{ position: number; gap?: string }> {
  const { oldest, newest } = await source.readRange();
  const asked = source.lastEventId;
  if (asked === undefined) return { position: newest };
  if (asked > newest) return { position: newest, gap: formatGap(oldest, newest) };
  if (asked < oldest - 1) return { position: asked, gap: formatGap(oldest, newest) };
  return { position: asked };
}

function formatGap(oldest: number, newest: number): string {
  return formatMessage({ event: "gap", data: { oldest_id: oldest, newest_id: newest } });
}

function formatBye(reason: "token_expired" | "access_withdrawn" | "shutting_down"): string {
  return formatMessage({ event: "bye", data: { reason } });
}

function toMessage(row: EventRow): string {
  return formatMessage({ ...presentEvent(row), id: row.id });
}
