import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { ensureCertificates } from "../../platform/stack/certificates.ts";
import { type Postgres, startPostgres } from "../postgres.ts";
import { type Remote, startRemote } from "../remote.ts";
import {
  type DelivererProgram,
  PATHS,
  type PublisherProgram,
  type Received,
  type ReceiverProgram,
  type RunnableProgram,
  type SenderProgram,
  type SenderSettings,
} from "./programs.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const DIR = join(ROOT, ".marina", "bench-webhooks");
/** Attempts at once: the default of an API server. */
export const CONCURRENCY = 512;
const COMPLETE_TIMEOUT_MS = 300_000;

/** The parts that every measure needs: PostgreSQL, the receiver, and keys. */
export interface Bench {
  postgres: Postgres;
  receiver: Remote<ReceiverProgram>;
  receiverUrl: string;
  /** Marina with a separate database and webhooks that point to these paths of the receiver. */
  startMarina(paths: readonly string[]): Promise<Marina>;
  /** Another sender of the same requests; the caller stops it. */
  startSender(name: "floor" | "graphile-worker", settings: SenderData): Promise<Remote<SenderProgram>>;
  stop(): Promise<void>;
}

export type SenderData = Pick<SenderSettings, "databaseUrl" | "body">;

export interface Marina {
  databaseUrl: string;
  publisher: Remote<PublisherProgram>;
  deliverer: Remote<DelivererProgram>;
  /** Ends both programs and drops the database. */
  stop(): Promise<void>;
}

export async function startBench(): Promise<Bench> {
  const postgres = await startPostgres(DIR);
  const { caFile, serverCertFile: certFile, serverKeyFile: keyFile } = await ensureCertificates(DIR);
  const receiver = startRemote<ReceiverProgram>(join(import.meta.dirname, "receiver.ts"));
  const receiverUrl = await receiver.call("listen", { certFile, keyFile });
  return {
    postgres,
    receiver,
    receiverUrl,
    async startMarina(paths) {
      const folder = join(ROOT, "apiserver", "webhooks");
      const publisher = startRemote<PublisherProgram>(join(folder, "publisher.bench.ts"));
      const deliverer = startRemote<DelivererProgram>(join(folder, "deliverer.bench.ts"));
      const key = randomBytes(32).toString("base64");
      const databaseUrl = await publisher.call("open", { adminUrl: postgres.adminUrl, key });
      await deliverer.call("open", { databaseUrl, caFile, key, concurrency: CONCURRENCY });
      await publisher.call(
        "addWebhooks",
        paths.map((path) => `${receiverUrl}/${path}`),
      );
      return {
        databaseUrl,
        publisher,
        deliverer,
        async stop() {
          await deliverer.call("stop");
          await deliverer.stop();
          await publisher.call("drop");
          await publisher.stop();
        },
      };
    },
    async startSender(name, data) {
      const sender = startRemote<SenderProgram>(join(import.meta.dirname, `${name}.ts`));
      const secret = `whsec_${randomBytes(32).toString("hex")}`;
      await sender.call("open", { ...data, receiverUrl, caFile, secret, concurrency: CONCURRENCY });
      return sender;
    },
    async stop() {
      await receiver.stop();
      await postgres.stop();
    },
  };
}

/** Paths of the receiver that answer at once, one for each webhook. */
export function createFastPaths(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${PATHS.fast}/${n}`);
}

/** One run: that many events are sent, and all are complete. */
export interface Run {
  /** After the first fifth, in which connections are opened. */
  perSecond: number;
  /** CPU of one event, also after the first fifth. */
  cpuMicroseconds: number;
  missing: number;
  duplicates: number;
}

/** Lets a sender send the `count` events that are pending, and waits until all are received and complete. */
export async function measureRun(
  { receiver }: Pick<Bench, "receiver">,
  sender: Remote<RunnableProgram>,
  count: number,
  countRemaining: () => Promise<number>,
): Promise<Run> {
  await sender.call("start");
  const warm = await receiver.call("waitFor", { events: count / 5, timeoutMs: COMPLETE_TIMEOUT_MS });
  const cpuBefore = await sender.call("readCpuMs");
  const received = await receiver.call("waitFor", { events: count, timeoutMs: COMPLETE_TIMEOUT_MS });
  const deadline = Date.now() + COMPLETE_TIMEOUT_MS;
  while ((await countRemaining()) > 0 && Date.now() < deadline);
  const cpuMs = (await sender.call("readCpuMs")) - cpuBefore;
  await sender.call("stop");
  await receiver.call("reset");
  return {
    perSecond: toRate(received),
    cpuMicroseconds: (cpuMs * 1000) / (count - warm.first.length),
    missing: count - received.first.length,
    duplicates: received.duplicates,
  };
}

function toRate({ first }: Received): number {
  const from = Math.floor(first.length / 5);
  const [, startMs = Number.NaN] = first[from] ?? [];
  const [, endMs = Number.NaN] = first.at(-1) ?? [];
  return ((first.length - 1 - from) * 1000) / (endMs - startMs);
}
