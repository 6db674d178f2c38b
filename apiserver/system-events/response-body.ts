const WRITE_DEADLINE_MS = 30_000;

export interface BodyEvents {
  /** The source failed; the body ends here, and the client comes back for the rest. */
  onFailure(error: unknown): void;
  /** The reader takes nothing: close its connection. */
  cutOff(): void;
}

/**
 * Turns pieces of text into the body of an answer, at the pace of its reader: a piece is asked for when the one
 * before was taken. A reader that takes nothing for 30 s is cut off. Ends the source when the reader is gone.
 */
export function toResponseBody(
  createPieces: (signal: AbortSignal) => AsyncGenerator<string>,
  events: BodyEvents,
): ReadableStream<Uint8Array> {
  const ended = new AbortController();
  const pieces = createPieces(ended.signal);
  const encoder = new TextEncoder();
  let deadline: NodeJS.Timeout | undefined;

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(deadline);
        try {
          const piece = await pieces.next();
          if (ended.signal.aborted) return;
          if (piece.done === true) return controller.close();
          controller.enqueue(encoder.encode(piece.value));
          deadline = setTimeout(() => events.cutOff(), WRITE_DEADLINE_MS);
        } catch (error) {
          events.onFailure(error);
          if (!ended.signal.aborted) controller.close();
        }
      },
      async cancel() {
        clearTimeout(deadline);
        ended.abort();
        await pieces.return(undefined);
      },
    },
    new CountQueuingStrategy({ highWaterMark: 1 }),
  );
}
