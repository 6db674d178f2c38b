import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { serve } from "../remote.ts";
import { nowMs, PATHS, type Received } from "./programs.ts";

/** A program: an HTTPS endpoint that counts every event. PATHS names how each path behaves. */
const DRIP_MS = 1000;

const events = new Map<string, Received["first"][number]>();
let duplicates = 0;
let healed = false;
let onEvent = () => {};

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? "";
  if (path.startsWith(`/${PATHS.hang}`) && !healed) return;
  if (path.startsWith(`/${PATHS.drip}`) && !healed) {
    const timer = setInterval(() => response.socket?.write("H"), DRIP_MS);
    response.on("close", () => clearInterval(timer));
    return;
  }
  response.writeHead(204).end();
}

function count(request: IncomingMessage): void {
  const path = request.url ?? "";
  const id = String(request.headers["webhook-id"]);
  const key = `${path} ${id}`;
  if (events.has(key)) duplicates += 1;
  else events.set(key, [id, nowMs(), path]);
  onEvent();
}

serve({
  listen: async ({ certFile, keyFile }: { certFile: string; keyFile: string }) => {
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    const server = createServer({ ...files, keepAliveTimeout: 60_000 }, (request, response) => {
      request.resume();
      request.once("end", () => {
        count(request);
        answer(request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  reset: () => {
    events.clear();
    duplicates = 0;
    healed = false;
  },
  heal: () => {
    healed = true;
  },
  waitFor: async ({ events: wanted, timeoutMs }: { events: number; timeoutMs: number }) => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      onEvent = () => {
        if (events.size < wanted) return;
        clearTimeout(timer);
        resolve();
      };
      onEvent();
    });
    onEvent = () => {};
    return { first: [...events.values()], duplicates } satisfies Received;
  },
});
