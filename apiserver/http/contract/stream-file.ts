import type { Context } from "hono";
import type { HttpEnv } from "../env.ts";

/** What of a streamed file is kept for its reader, at most: some records and their text. No user's share is smaller. */
export const STREAMED_FILE_BYTES = 2_097_152;
/** A text of about this length is sent at once. */
const PIECE_LENGTH = 65_536;

/** The responses of streamFile; the reader has taken what was sent before a piece when `onPiece` is called. */
export const streamedFiles = new WeakMap<Response, { onPiece: () => void }>();

/**
 * Responds with a file of any size that is written while it is read: `texts` are asked for as the client takes what was
 * sent. When that fails, the connection is cut off, so that the client does not take a part for the whole.
 */
export function streamFile(
  c: Context<HttpEnv>,
  texts: AsyncIterable<string>,
  headers: Record<string, string>,
): Response {
  const progress = { onPiece: () => {} };
  const response = c.body(ReadableStream.from(encode(c, texts, progress)), 200, headers);
  streamedFiles.set(response, progress);
  return response;
}

async function* encode(
  c: Context<HttpEnv>,
  texts: AsyncIterable<string>,
  progress: { onPiece: () => void },
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  try {
    let piece = "";
    for await (const text of texts) {
      piece += text;
      if (piece.length < PIECE_LENGTH) continue;
      progress.onPiece();
      yield encoder.encode(piece);
      piece = "";
    }
    if (piece !== "") yield encoder.encode(piece);
  } catch (cause) {
    c.get("log").error({ requestId: c.get("requestId"), cause }, "a file was not sent whole");
    const { outgoing } = c.env ?? {};
    if (outgoing === undefined) throw cause;
    // Before the server learns of it, which would end the response as if it were whole.
    outgoing.destroy();
  }
}
