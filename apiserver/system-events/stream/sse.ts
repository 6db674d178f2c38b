import { ApiError } from "../../http/errors.ts";

/** One event of a stream. `data` is sent as one line of JSON. */
export interface SseMessage {
  event: string;
  data: unknown;
  /** Absent for events that cannot be resumed from. */
  id?: number;
}

/** The comment that keeps proxies and clients from closing an idle stream. */
export const HEARTBEAT: Uint8Array = Buffer.from(": ping\n\n");

/**
 * The start of a stream: how long its client waits before it reconnects, and the id to resume after. A block without
 * data is no event, but sets the last event id (WHATWG HTML, section 9.2.6): a client that reconnects before its first
 * event misses none. `position` is absent where the client has sent an id itself.
 */
export function encodeStart(position?: number): Uint8Array {
  return Buffer.from(`retry: 3000\n${position === undefined ? "" : `id: ${position}\n`}\n`);
}

/** Formats one event as text/event-stream (WHATWG HTML, section 9.2). */
export function formatMessage({ event, data, id }: SseMessage): string {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${idLine}data: ${JSON.stringify(data)}\n\n`;
}

/** Like formatMessage, in bytes. */
export function encodeMessage(message: SseMessage): Uint8Array {
  return Buffer.from(formatMessage(message));
}

const MAX_EVENT_ID_LENGTH = 255;

/**
 * The id in a Last-Event-ID header; undefined when it is missing or empty. One that is no position of this feed is
 * beyond the newest, so that its client gets a `gap` instead of a silent start. Throws bad_request above 255
 * characters.
 */
export function parseLastEventId(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (text.length > MAX_EVENT_ID_LENGTH) {
    throw new ApiError("bad_request", "Last-Event-ID must have at most 255 characters.");
  }
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.MAX_SAFE_INTEGER;
}
