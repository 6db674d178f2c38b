import type { Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { createAddressGuard } from "./address-guard.ts";
import { createResolver } from "./resolver.ts";
import { createWebhookSender, type Sender, type SenderOptions, type SignedRequest } from "./send.ts";
import { type DnsServer, startDnsServer } from "./testing-dns.ts";
import {
  type Authority,
  createAuthority,
  type Identity,
  type Listening,
  listen,
  startReceiver,
} from "./testing-receiver.ts";

export const BODY = JSON.stringify({ type: "cluster.ready", data: { name: "für 5 €" } });
export const HEADERS = { "content-type": "application/json", "webhook-id": "evt-1" };
export const HOSTS = ["127.0.0.1", "::1", "localhost", "*.example.com"];

/** Enough for what ends by itself, and short for what never does. */
export const PATIENT_MS = 60_000;
export const SHORT_MS = 500;

export let authority: Authority;
export let identity: Identity;
export let dns: DnsServer;

/**
 * For the tests of one file, which calls it: a module is read once for several files, its hooks would be those of the
 * first.
 */
export function setUpSenders(): void {
  beforeAll(async () => {
    authority = await createAuthority();
    identity = await authority.issue({ hosts: HOSTS });
    dns = await startDnsServer({
      "receiver.example.com": ["127.0.0.1"],
      "closed-first.example.com": ["127.0.0.2", "127.0.0.1"],
      "silent.example.com": "silence",
      "one-of-fifty.example.com": [...Array.from({ length: 49 }, () => "127.0.0.1"), "10.0.0.1"],
    });
  });
  afterAll(() => dns.close());
}

export function startSender(options: Partial<SenderOptions> = {}): Sender {
  const sender = createWebhookSender({
    guard: createAddressGuard({ allowed: ["127.0.0.1", "127.0.0.2", "::1"] }),
    resolver: createResolver({ servers: [dns.address], timeoutMs: PATIENT_MS }),
    caBundle: authority.bundle,
    timeoutMs: PATIENT_MS,
    ...options,
  });
  onTestFinished(() => sender.close());
  return sender;
}

export const delivery = (url: string, more: Partial<SignedRequest> = {}): SignedRequest => ({
  url,
  headers: HEADERS,
  body: BODY,
  ...more,
});

export async function start(listening: Promise<Listening>): Promise<Listening> {
  const started = await listening;
  onTestFinished(() => started.close());
  return started;
}

export const startTls = (onSocket: (socket: Socket) => void, options = {}) =>
  start(
    listen(
      createTlsServer({ ...identity, ...options }, (socket) => {
        socket.on("error", () => undefined);
        onSocket(socket);
      }),
    ),
  );

export const startHttps = (handler: Parameters<typeof startReceiver>[1], of = identity) =>
  start(startReceiver(of, handler));

/** Answers each request with these bytes. */
export const answerWith = (bytes: string) => (socket: Socket) => {
  socket.once("data", () => socket.write(bytes));
};
