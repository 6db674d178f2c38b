import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface PlainResponse {
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** Serves by node:http alone, and prints its port. What `handle` throws is a response with 500. */
export function servePlainly(
  handle: (method: string, url: string, body: string) => Promise<PlainResponse>,
): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      handle(request.method ?? "", request.url ?? "", Buffer.concat(chunks).toString()).then(
        ({ headers, text }) =>
          response.writeHead(200, { ...headers, "Content-Length": Buffer.byteLength(text) }).end(text),
        (error) => response.writeHead(500).end(String(error)),
      );
    });
  });
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
}
