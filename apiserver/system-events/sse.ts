/** One event of a stream. `data` is sent as one line of JSON. */
export interface SseMessage {
  event: string;
  data: unknown;
  /** Absent for events that are no position to resume from. */
  id?: number;
}

/** The comment that keeps proxies and clients from giving up on a quiet stream. */
export const HEARTBEAT: Uint8Array = Buffer.from(": ping\n\n");

/** How long a client waits before it reconnects. */
export const RETRY: Uint8Array = Buffer.from("retry: 3000\n\n");

/** Writes one event in the form of text/event-stream (WHATWG HTML, section 9.2). */
export function formatMessage({ event, data, id }: SseMessage): string {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return `event: ${event}\n${idLine}data: ${JSON.stringify(data)}\n\n`;
}

/** The same as it is sent. */
export function encodeMessage(message: SseMessage): Uint8Array {
  return Buffer.from(formatMessage(message));
}

/** A Last-Event-ID as a position; undefined when there is none or it is not one of ours. */
export function parseLastEventId(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}
