import type { Context } from "hono";
import type { HttpEnv } from "../env.ts";
import { logFailure, toApiError } from "../handle-error.ts";

/** What of a streamed file is kept for its reader, at most: some records and their text. No user's share is smaller. */
export const STREAMED_FILE_BYTES = 2_097_152;
/** A text of about this length is sent at once. */
const PIECE_LENGTH = 65_536;

/** The streamed responses of streamFile; the reader has taken what was sent before a piece when `onPiece` is called. */
export const streamedFiles = new WeakMap<Response, { onPiece: () => void }>();

/**
 * Responds with a file of any size that is written while it is read: `texts` are asked for as the client takes what was
 * sent. Rejects with what fails before anything is sent, as any short file is. What fails later cuts the connection off, so that
 * the client does not take a part for the whole.
 */
export async function streamFile(
  c: Context<HttpEnv>,
  texts: AsyncIterable<string>,
  headers: Record<string, string>,
): Promise<Response> {
  const pieces = toPieces(texts);
  const first = (await pieces.next()).value ?? "";
  if (first.length < PIECE_LENGTH) return c.body(first, 200, headers);
  const progress = { onPiece: () => {} };
  const response = c.body(ReadableStream.from(encode(c, { first, pieces }, progress)), 200, headers);
  streamedFiles.set(response, progress);
  return response;
}

/** Joins pieces until they are at least as long as what is sent at once, but for the last one. */
async function* toPieces(texts: AsyncIterable<string>): AsyncGenerator<string, undefined> {
  let piece = "";
  for await (const text of texts) {
    piece += text;
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
  return undefined;
}

async function* encode(
  c: Context<HttpEnv>,
  { first, pieces }: { first: string; pieces: AsyncGenerator<string, undefined> },
  progress: { onPiece: () => void },
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  try {
    let piece: string | undefined = first;
    while (piece !== undefined) {
      progress.onPiece();
      yield encoder.encode(piece);
      piece = (await pieces.next()).value;
    }
  } catch (error) {
    logFailure(error, toApiError(error), c, "a file was not sent whole");
    const { outgoing } = c.env ?? {};
    if (outgoing === undefined) throw error;
    // Before the server learns of it, which would end the response as if it were whole.
    outgoing.destroy();
  } finally {
    await pieces.return(undefined);
  }
}
