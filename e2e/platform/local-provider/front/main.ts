import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { parseArgs } from "node:util";
import { type Fronts, openFronts } from "./fronts.ts";

async function readJson(request: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

function send(response: ServerResponse, status: number, body?: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body === undefined ? "" : JSON.stringify(body));
}

async function handle(fronts: Fronts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? "";
  if (path === "/readyz") return send(response, 200, {});
  if (path === "/fronts") return send(response, 200, fronts.keys());
  const key = decodeURIComponent(path.replace(/^\/fronts\//, ""));
  if (request.method === "PUT") return send(response, 200, await fronts.put(key, await readJson(request)));
  if (request.method === "DELETE") {
    await fronts.remove(key);
    return send(response, 204);
  }
  const state = fronts.get(key);
  return state === undefined ? send(response, 404) : send(response, 200, state);
}

/**
 * The TCP front of all tenant clusters, a separate process that keeps running without the provider. Controlled by HTTP
 * on a loopback port: GET /fronts, GET, PUT and DELETE /fronts/<key>.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: "string" }, file: { type: "string" } } });
  const fronts = await openFronts(values.file ?? "fronts.json");
  const server = createServer((request, response) => {
    handle(fronts, request, response).catch((error: unknown) =>
      send(response, 500, { message: String(error) }),
    );
  });
  process.once("SIGTERM", () => {
    server.close();
    server.closeAllConnections();
    void fronts.close().finally(() => process.exit(0));
  });
  server.listen({ host: "127.0.0.1", port: Number(values.port) });
}

await main();
