import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: unknown;
}

export interface TestServer {
  url: string;
  received: ReceivedRequest[];
  /** TCP connections opened so far. */
  connections(): number;
  close(): Promise<void>;
}

export type Responder = (response: ServerResponse, request: ReceivedRequest) => void;

/**
 * An HTTP server for tests of the client, without Kubernetes semantics. Each responder handles one request, in order;
 * the last one handles all further requests.
 */
export async function startTestServer(...responders: [Responder, ...Responder[]]): Promise<TestServer> {
  const received: ReceivedRequest[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    readBody(request).then((body) => {
      const url = new URL(request.url ?? "/", "http://localhost");
      const { method = "", headers } = request;
      const requestInfo = { method, path: url.pathname, query: url.searchParams, headers, body };
      received.push(requestInfo);
      responders[Math.min(received.length, responders.length) - 1]?.(response, requestInfo);
    }, response.destroy.bind(response));
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Responder {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

/** A `metav1.Status` failure. */
export function status(code: number, reason: string, message = reason, details: object = {}): Responder {
  return json(code, toStatus(code, reason, message, details));
}

export function toStatus(code: number, reason: string, message = reason, details: object = {}) {
  return { apiVersion: "v1", kind: "Status", status: "Failure", code, reason, message, details };
}

/** Closes the connection without a response. */
export function closeConnection(): Responder {
  return (response) => {
    response.destroy();
  };
}

/** A watch stream that sends the events and then ends, breaks, or stays open. */
export function watchLines(events: object[], then: "end" | "break" | "stay"): Responder {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const text = events.map((event) => `${JSON.stringify(event)}\n`).join("");
    if (then === "end") response.end(text);
    else if (then === "break") response.write(text || "\n", () => response.destroy());
    else if (text !== "") response.write(text);
  };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? undefined : JSON.parse(text);
}
