/** What waits for a slow client at most, before one last piece; what comes later is read from the table again. */
const QUEUE_BYTES = 65_536;

export interface OutletEvents {
  /** The client has taken what there was. */
  onTaken(): void;
  /** The body has ended, or the client is gone. */
  onClosed(): void;
}

/** The body of one answer, as far as its client takes it. */
export interface Outlet {
  body: ReadableStream<Uint8Array>;
  /** Whether more may be put in now. */
  hasRoom(): boolean;
  put(bytes: Uint8Array): void;
  /** The last words; after them the body ends. */
  end(bytes: Uint8Array): void;
  /** Since when the client has not taken what was given to it; undefined: it waits for us. */
  stuckSinceMs(): number | undefined;
  /** Ends the body at once and gives up what waits. */
  close(): void;
}

/**
 * A body with a bounded queue. Bytes are handed over when the reader asks for them: between two questions it is still
 * busy with sending, which for a client that does not read goes on for ever.
 */
export function createOutlet(now: () => number, events: OutletEvents): Outlet {
  let queue: Uint8Array[] = [];
  let queuedBytes = 0;
  let isWanted = false;
  let isEnding = false;
  let isClosed = false;
  let handedMs: number | undefined = now();
  let controller: ReadableStreamDefaultController<Uint8Array>;

  function finish(): void {
    if (isClosed) return;
    isClosed = true;
    queue = [];
    events.onClosed();
  }

  function hand(bytes: Uint8Array): void {
    isWanted = false;
    handedMs = now();
    controller.enqueue(bytes);
    if (!isEnding) return;
    controller.close();
    finish();
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull() {
        if (isClosed) return;
        if (queue.length > 0) {
          const bytes = queue.length === 1 && queue[0] !== undefined ? queue[0] : Buffer.concat(queue);
          queue = [];
          queuedBytes = 0;
          hand(bytes);
        } else {
          isWanted = true;
          handedMs = undefined;
        }
        if (!isClosed) events.onTaken();
      },
      cancel: finish,
    },
    // Nothing beyond what the reader asks for.
    new CountQueuingStrategy({ highWaterMark: 0 }),
  );

  function put(bytes: Uint8Array): void {
    if (isClosed) return;
    if (isWanted) {
      hand(bytes);
      return;
    }
    queue.push(bytes);
    queuedBytes += bytes.byteLength;
  }

  return {
    body,
    hasRoom: () => !isEnding && !isClosed && queuedBytes < QUEUE_BYTES,
    put(bytes) {
      if (!isEnding) put(bytes);
    },
    end(bytes) {
      if (isEnding) return;
      isEnding = true;
      put(bytes);
    },
    stuckSinceMs: () => handedMs,
    close() {
      if (isClosed) return;
      controller.close();
      finish();
    },
  };
}
