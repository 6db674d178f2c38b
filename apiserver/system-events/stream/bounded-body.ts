/** How much is buffered for a slow client before one last chunk; later events are read from the table again. */
const BUFFER_BYTES = 65_536;

export interface BodyEvents {
  /** The client has read what was buffered. */
  onDrained(): void;
  /** The body has ended, or the client disconnected. */
  onClosed(): void;
}

/** The body of one streaming response. */
export interface BoundedBody {
  stream: ReadableStream<Uint8Array>;
  /** Whether more may be written now. */
  hasRoom(): boolean;
  write(bytes: Uint8Array): void;
  /** Writes the last bytes; the body ends after them. */
  end(bytes: Uint8Array): void;
  /** When the client last took bytes without asking for more since; undefined while it waits for more. */
  blockedSinceMs(): number | undefined;
  /** Ends the body at once and drops what is buffered. */
  close(): void;
}

/**
 * A response body with a bounded buffer. Bytes are handed over when the client pulls: between two pulls it is still
 * sending, which never ends for a client that does not read.
 */
export function createBoundedBody(now: () => number, events: BodyEvents): BoundedBody {
  let buffer: Uint8Array[] = [];
  let bufferedBytes = 0;
  let isPulled = false;
  let isEnding = false;
  let isClosed = false;
  let handedOverMs: number | undefined = now();
  let controller: ReadableStreamDefaultController<Uint8Array>;

  function finish(): void {
    if (isClosed) return;
    isClosed = true;
    buffer = [];
    events.onClosed();
  }

  function handOver(bytes: Uint8Array): void {
    isPulled = false;
    handedOverMs = now();
    controller.enqueue(bytes);
    if (!isEnding) return;
    controller.close();
    finish();
  }

  const stream = new ReadableStream<Uint8Array>(
    {
      start(created) {
        controller = created;
      },
      pull() {
        if (isClosed) return;
        if (buffer.length > 0) {
          const bytes = Buffer.concat(buffer);
          buffer = [];
          bufferedBytes = 0;
          handOver(bytes);
        } else {
          isPulled = true;
          handedOverMs = undefined;
        }
        if (!isClosed) events.onDrained();
      },
      cancel: finish,
    },
    // Nothing beyond what the reader pulls.
    new CountQueuingStrategy({ highWaterMark: 0 }),
  );

  function write(bytes: Uint8Array): void {
    if (isClosed) return;
    if (isPulled) {
      handOver(bytes);
      return;
    }
    buffer.push(bytes);
    bufferedBytes += bytes.byteLength;
  }

  return {
    stream,
    hasRoom: () => !isEnding && !isClosed && bufferedBytes < BUFFER_BYTES,
    write(bytes) {
      if (!isEnding) write(bytes);
    },
    end(bytes) {
      if (isEnding) return;
      isEnding = true;
      write(bytes);
    },
    blockedSinceMs: () => handedOverMs,
    close() {
      if (isClosed) return;
      controller.close();
      finish();
    },
  };
}
