import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createId } from "../../../shared/id.ts";

/** Messages for bytes that are no request, by the error code of Node's parser. */
const FAULTS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "The address and the headers together are too long.",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time.",
};

/** The response to bytes that are no HTTP request: the usual error body, and the connection is closed. */
export function renderClientError(code: string | undefined, requestId: string): string {
  const message = FAULTS[code ?? ""] ?? "The bytes received are not an HTTP request.";
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
 * Responds on a connection whose bytes cannot be parsed. `pending` is the response to an earlier request of the same
 * connection: it is sent first, else the client would take this error for it.
 */
export function respondToClientError(
  error: Error,
  socket: Duplex,
  pending: ServerResponse | undefined,
): void {
  const code = "code" in error ? String(error.code) : undefined;
  const end = () => {
    if (!socket.writable || code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    socket.end(renderClientError(code, createId()), () => socket.destroy());
  };
  if (pending === undefined || pending.writableFinished) end();
  // The earlier request itself is incomplete: its response is discarded.
  else if (pending.req.complete) pending.once("close", end);
  else if (pending.headersSent) socket.destroy();
  else end();
}
