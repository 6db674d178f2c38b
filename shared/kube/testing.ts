import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the server saw it. */
export interface Received {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  body: unknown;
}

export interface ProtocolServer {
  url: string;
  received: Received[];
  /** TCP connections opened so far. */
  connections(): number;
  close(): Promise<void>;
}

export type Answer = (response: ServerResponse, request: Received) => void;

/**
 * An HTTP server for tests of the client: it answers what the test tells it to and knows nothing of Kubernetes.
 * `answers` are used up in order; the last one stays.
 */
export async function startProtocolServer(...answers: [Answer, ...Answer[]]): Promise<ProtocolServer> {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    readBody(request).then((body) => {
      const url = new URL(request.url ?? "/", "http://localhost");
      const { method = "", headers } = request;
      const seen = { method, path: url.pathname, query: url.searchParams, headers, body };
      received.push(seen);
      answers[Math.min(received.length, answers.length) - 1]?.(response, seen);
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

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
}

/** A `metav1.Status` failure. */
export function status(code: number, reason: string, message = reason, details: object = {}): Answer {
  return json(code, toStatus(code, reason, message, details));
}

export function toStatus(code: number, reason: string, message = reason, details: object = {}) {
  return { apiVersion: "v1", kind: "Status", status: "Failure", code, reason, message, details };
}

/** Breaks the connection instead of answering. */
export function breakConnection(): Answer {
  return (response) => {
    response.destroy();
  };
}

/** Watch lines; the stream then ends, breaks, or stays silent. */
export function watchLines(events: object[], then: "end" | "break" | "stay"): Answer {
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
