import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createId } from "../../../shared/id.ts";

/** What is wrong with bytes that never became a request, by the code of Node's parser. */
const FAULTS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "The address and the headers together are too long.",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time.",
};

/** The whole answer to bytes that are no HTTP request: the same error body as everywhere, and the connection ends. */
export function renderClientError(code: string | undefined, requestId: string): string {
  const message = FAULTS[code ?? ""] ?? "What arrived is not an HTTP request.";
  const body = JSON.stringify({ error: { code: "bad_request", message, request_id: requestId } });
  return [
    "HTTP/1.1 400 Bad Request",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    "X-Content-Type-Options: nosniff",
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

/**
 * Answers on a connection whose bytes cannot be parsed. `pending` is the answer to an earlier request of the same
 * connection: it goes out first, else the client would take this refusal for it.
 */
export function answerClientError(error: Error, socket: Duplex, pending: ServerResponse | undefined): void {
  const code = "code" in error ? String(error.code) : undefined;
  const end = () => {
    if (!socket.writable || code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    socket.end(renderClientError(code, createId()), () => socket.destroy());
  };
  if (pending === undefined || pending.writableFinished) end();
  // Its body never came in full: what the handler answers belongs to nobody.
  else if (pending.req.complete) pending.once("close", end);
  else if (pending.headersSent) socket.destroy();
  else end();
}
