import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import type { Delivery, ReceiverSettings } from "./receiver.ts";

/**
 * Runs as a separate program: `node webhook-receiver.ts <settings file>`. An endpoint is any path: PUT gives it a
 * signing secret, POST is a delivery, GET lists its deliveries, the last thousand of all endpoints. Each delivery is
 * printed.
 */
const MAX_DELIVERIES = 1000;

const [settingsFile] = process.argv.slice(2);
if (settingsFile === undefined) throw new Error("usage: node webhook-receiver.ts <settings file>");
const { port, certFile, keyFile }: ReceiverSettings = JSON.parse(readFileSync(settingsFile, "utf8"));

const secrets = new Map<string, string>();
const deliveries: { path: string; delivery: Delivery }[] = [];

/** Whether the public library accepts the signature; null while the endpoint has no secret. */
function verify(path: string, body: string, headers: Record<string, string>): boolean | null {
  const secret = secrets.get(path);
  if (secret === undefined) return null;
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

function print({ id, verified, body }: Delivery): void {
  const signature = verified === null ? "signature not checked" : verified ? "verified" : "WRONG SIGNATURE";
  process.stdout.write(`${new Date().toISOString()} ${id} ${signature} ${body}\n`);
}

const server = createServer(
  { cert: readFileSync(certFile), key: readFileSync(keyFile) },
  (request, response) => {
    const path = new URL(request.url ?? "/", "https://receiver").pathname;
    void text(request).then((body) => {
      if (request.method === "PUT") {
        secrets.set(path, body);
        return response.writeHead(204).end();
      }
      if (request.method === "GET") {
        const own = deliveries.filter((one) => one.path === path).map((one) => one.delivery);
        return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(own));
      }
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const verified = verify(path, body, headers);
      const delivery = {
        id: headers["webhook-id"] ?? "",
        receivedAt: new Date().toISOString(),
        verified,
        headers,
        body,
      };
      deliveries.push({ path, delivery });
      deliveries.splice(0, deliveries.length - MAX_DELIVERIES);
      print(delivery);
      return response.writeHead(verified === false ? 401 : 204).end();
    });
  },
);
server.listen(port, "127.0.0.1");
process.once("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
});
