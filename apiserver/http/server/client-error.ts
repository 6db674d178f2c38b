import { type IncomingMessage, METHODS, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { createId } from "../../../shared/program/id.ts";
import { type ErrorCode, statusOf } from "../errors.ts";
import { SECURITY_HEADERS } from "./observe.ts";

interface Refusal {
  code: ErrorCode;
  message: string;
  retryAfterSeconds?: number;
}

const NOT_HTTP: Refusal = { code: "bad_request", message: "The bytes received are not an HTTP request." };
const UNKNOWN_METHOD: Refusal = { code: "not_implemented", message: "This server does not know the method." };

/** The error of a request whose headers or body are not complete in time. */
const TIMEOUT_CODE = "ERR_HTTP_REQUEST_TIMEOUT";

const STALLED_CODE = "STALLED";

/** Instead of a timeout for which the client may not be blamed. */
export function serverStalled(): Error {
  return Object.assign(new Error("this server stood still"), { code: STALLED_CODE });
}

/** Whether an error of the HTTP server says that a request did not arrive in time. */
export function isTimeout(error: Error): boolean {
  return "code" in error && error.code === TIMEOUT_CODE;
}

/** Refusals of bytes that are no request, by the error code of Node's parser. */
const FAULTS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    code: "bad_request",
    message: "The address and the headers together are too long.",
  },
  [TIMEOUT_CODE]: { code: "request_timeout", message: "The request did not arrive in time." },
  [STALLED_CODE]: {
    code: "dependency_unavailable",
    message: "The request did not arrive in time, while this server was overloaded; try again.",
    retryAfterSeconds: 1,
  },
};

/** A request line of a method that Node's parser does not know. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) \S+ HTTP\/1\.[01]\r?\n/;

/** The response to bytes that are no HTTP request: the usual error body, and the connection is closed. */
function renderRefusal({ code, message, retryAfterSeconds }: Refusal, requestId: string): string {
  const body = renderBody({ code, message }, requestId);
  const status = statusOf(code);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    ...Object.entries(headersOf(body, requestId)).map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join("\r\n");
}

function renderBody({ code, message }: Refusal, requestId: string): string {
  return JSON.stringify({ error: { code, message, request_id: requestId } });
}

function headersOf(body: string, requestId: string): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "X-Request-Id": requestId,
    ...SECURITY_HEADERS,
    Connection: "close",
  };
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
    socket.end(renderRefusal(findRefusal(error, code), createId()), () => socket.destroy());
  };
  if (pending === undefined || pending.writableFinished) end();
  // The earlier request itself is incomplete: its response is discarded.
  else if (pending.req.complete) pending.once("close", end);
  else if (pending.headersSent) socket.destroy();
  else end();
}

function findRefusal(error: Error, code = ""): Refusal {
  if (code !== "HPE_INVALID_METHOD") return FAULTS[code] ?? NOT_HTTP;
  const packet = "rawPacket" in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : Buffer.alloc(0);
  const method = REQUEST_LINE.exec(packet.toString("latin1"))?.[1];
  return method === undefined || METHODS.includes(method) ? NOT_HTTP : UNKNOWN_METHOD;
}

/** CONNECT, which makes a tunnel of its connection: 501, since this is no proxy. */
export function refuseConnect(_request: IncomingMessage, socket: Duplex): void {
  socket.end(renderRefusal(UNKNOWN_METHOD, createId()), () => socket.destroy());
}

/**
 * Refuses, in the usual error body, a request that Node parses and the Fetch standard cannot express: one without a
 * valid Host (RFC 9112 section 3.2), or with TRACK. Returns whether it did.
 */
export function refuseRequest(request: IncomingMessage, response: ServerResponse): boolean {
  const refusal = findFault(request);
  if (refusal === undefined) return false;
  const requestId = createId();
  const body = renderBody(refusal, requestId);
  response.writeHead(statusOf(refusal.code), headersOf(body, requestId)).end(body);
  return true;
}

function findFault({
  method,
  headers: { host = "", expect },
  url = "",
}: IncomingMessage): Refusal | undefined {
  if (method === "TRACK") return UNKNOWN_METHOD;
  if (!URL.canParse(`http://${host}/`) || /[/?#@\\]/.test(host)) {
    return { code: "bad_request", message: "The request has no valid Host." };
  }
  if (!url.startsWith("/") && !/^https?:\/\//i.test(url)) {
    return { code: "bad_request", message: "The address must be a path." };
  }
  if (expect !== undefined && expect.toLowerCase() !== "100-continue") {
    return { code: "bad_request", message: "The header Expect must be 100-continue." };
  }
  return undefined;
}
