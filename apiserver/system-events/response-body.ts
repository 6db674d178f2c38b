const WRITE_DEADLINE_MS = 30_000;

/**
 * Turns pieces of text into the body of an answer, at the pace of its reader: a piece is asked for when the one
 * before was taken. A reader that takes nothing for 30 s is cut off. Ends the source when the reader is gone.
 */
export function toResponseBody(
  createPieces: (signal: AbortSignal) => AsyncGenerator<string>,
  onFailure: (error: unknown) => void,
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
          deadline = setTimeout(() => {
            ended.abort();
            controller.error(new Error("the reader takes nothing"));
            void pieces.return(undefined);
          }, WRITE_DEADLINE_MS);
        } catch (error) {
          onFailure(error);
          controller.error(error);
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
