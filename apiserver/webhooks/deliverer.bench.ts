import { createSecretKey } from "node:crypto";
import { serve } from "../../e2e/bench/remote.ts";
import { readCpuMs } from "../../e2e/bench/webhooks/programs.ts";
import { createLogger } from "../../shared/program/log.ts";
import { createRegistry } from "../../shared/program/metrics.ts";
import { connectDatabase, type DatabaseClients } from "../db/client.ts";
import { startWebhookDeliverer } from "./start-deliverer.ts";

/** A program of `npm run bench webhooks`: delivers what is pending in a database, as an API server does. */
const log = createLogger({ name: "deliverer", level: "warn" });

interface Settings {
  databaseUrl: string;
  caFile: string;
  key: string;
  concurrency: number;
}

let settings: Settings;
let clients: DatabaseClients;
let running: { stopping: AbortController; stopped: Promise<void> } | undefined;

serve({
  open: (given: Settings) => {
    settings = given;
    clients = connectDatabase(given.databaseUrl);
  },
  start: () => {
    const stopping = new AbortController();
    const { caFile, key, concurrency } = settings;
    const { stopped } = startWebhookDeliverer(
      {
        db: clients.backgroundDb,
        sql: clients.sql,
        log,
        now: () => new Date(),
        metrics: createRegistry(),
        config: {
          webhooks: {
            keys: [{ id: "bench", key: createSecretKey(Buffer.from(key, "base64")) }],
            maxPerOrganization: 20,
            allowedAddresses: ["127.0.0.1"],
            blockedAddresses: [],
            blockedNames: [],
            caFile,
            dnsServers: [],
            concurrency,
            concurrencyPerEndpoint: 8,
          },
        },
      },
      stopping.signal,
    );
    running = { stopping, stopped };
  },
  stop: async () => {
    running?.stopping.abort();
    await running?.stopped;
  },
  readCpuMs,
});
