import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createAddressGuard } from "./address-guard.ts";
import { findEndpointRefusal } from "./endpoint-url.ts";
import { createResolver } from "./resolver.ts";
import { createWebhookSender, type Sender, type SenderOptions } from "./send.ts";
import { type DnsServer, startDnsServer } from "./testing-dns.ts";
import {
  type Authority,
  createAuthority,
  type Identity,
  type Listening,
  startReceiver,
} from "./testing-receiver.ts";

/** Far above what any machine needs: none of these tests is about a deadline. */
const PATIENT_MS = 200_000;

/** 127.0.0.2 stands for the private address: the guard allows 127.0.0.1 alone. */
const guard = createAddressGuard({ allowed: ["127.0.0.1"] });

let authority: Authority;
let identity: Identity;
let dns: DnsServer;

beforeAll(async () => {
  authority = await createAuthority();
  identity = await authority.issue({ hosts: ["127.0.0.1", "127.0.0.2", "*.example.com"] });
  dns = await startDnsServer({});
});

afterAll(() => dns.close());

function startSender(options: Partial<SenderOptions> = {}): Sender {
  const sender = createWebhookSender({
    guard,
    resolver: createResolver({ servers: [dns.address], timeoutMs: PATIENT_MS }),
    caBundle: authority.bundle,
    timeoutMs: PATIENT_MS,
    idleTimeoutMs: PATIENT_MS,
    ...options,
  });
  onTestFinished(() => sender.close());
  return sender;
}

/** On every address of loopback; the answer names the address that was called. */
async function startOnAll(): Promise<Listening> {
  const receiver = await startReceiver(
    identity,
    (request, response) => response.end(request.socket.localAddress),
    "0.0.0.0",
  );
  onTestFinished(() => receiver.close());
  return receiver;
}

const delivery = (url: string) => ({ url, headers: {}, body: "{}" });

describe("an address that may not be called", () => {
  test.each(["127.0.0.2", "2130706434", "0x7f.2", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]", "127。0。0。2"])(
    "is refused as the host %s at every attempt",
    async (host) => {
      const receiver = await startOnAll();
      const result = await startSender().send(delivery(`https://${host}:${receiver.port}/`));
      expect(result).toMatchObject({ errorClass: "blocked_address" });
      expect(receiver.accepted()).toBe(0);
    },
  );

  test("is refused when a name points to it after the webhook was saved, and the message does not tell it", async () => {
    const receiver = await startOnAll();
    const url = `https://moved.example.com:${receiver.port}/`;
    dns.names["moved.example.com"] = ["127.0.0.1"];
    const resolver = createResolver({ servers: [dns.address] });
    expect(await findEndpointRefusal(url, { guard, resolver, blockedNames: [] })).toBeUndefined();
    dns.names["moved.example.com"] = ["127.0.0.2"];
    const result = await startSender().send(delivery(url));
    expect(result).toMatchObject({
      errorClass: "blocked_address",
      message: expect.not.stringContaining("127"),
    });
    expect(receiver.accepted()).toBe(0);
  });

  test("is never called by a name that gives another address to each query", async () => {
    const receiver = await startOnAll();
    let queries = 0;
    Object.defineProperty(dns.names, "rebinding.example.com", {
      get: () => (queries++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"]),
    });
    dns.names["AAAA rebinding.example.com"] = [];
    const sender = startSender({ maxIdleConnections: 0 });
    const url = `https://rebinding.example.com:${receiver.port}/`;
    expect(await sender.send(delivery(url))).toMatchObject({ responseBody: "127.0.0.1" });
    expect(queries).toBe(1);
    expect(await sender.send(delivery(url))).toMatchObject({ errorClass: "blocked_address" });
    expect(receiver.accepted()).toBe(1);
  });

  test("is not reached through a kept connection, which stays at the address that was checked", async () => {
    const receiver = await startOnAll();
    const url = `https://kept.example.com:${receiver.port}/`;
    dns.names["kept.example.com"] = ["127.0.0.1"];
    const sender = startSender();
    expect(await sender.send(delivery(url))).toMatchObject({ responseBody: "127.0.0.1" });
    dns.names["kept.example.com"] = ["127.0.0.2"];
    expect(await sender.send(delivery(url))).toMatchObject({ responseBody: "127.0.0.1" });
    expect(receiver.accepted()).toBe(1);
    receiver.reset();
    await vi.waitFor(() => expect(receiver.open()).toBe(0), PATIENT_MS);
    expect(await sender.send(delivery(url))).toMatchObject({ errorClass: "blocked_address" });
  });
});

describe("connections", () => {
  test("are kept for the next attempt and closed with the sender", async () => {
    const receiver = await startOnAll();
    const sender = startSender();
    for (let attempt = 0; attempt < 5; attempt += 1)
      expect(await sender.send(delivery(`https://127.0.0.1:${receiver.port}/`))).toMatchObject({
        status: 200,
      });
    expect(receiver.accepted()).toBe(1);
    sender.close();
    await vi.waitFor(() => expect(receiver.open()).toBe(0), PATIENT_MS);
  });

  test("that are idle are bounded over all origins", async () => {
    const receivers = await Promise.all([startOnAll(), startOnAll(), startOnAll()]);
    const sender = startSender({ maxIdleConnections: 2 });
    for (const { port } of receivers) await sender.send(delivery(`https://127.0.0.1:${port}/`));
    await vi.waitFor(
      () => expect(receivers.map((receiver) => receiver.open())).toEqual([0, 1, 1]),
      PATIENT_MS,
    );
  });

  test("of one origin are all kept, as many as attempts were made at once", async () => {
    const receiver = await startOnAll();
    const sender = startSender();
    const url = `https://127.0.0.1:${receiver.port}/`;
    // More than the 256 of one origin that Node keeps by default.
    const sendAll = () => Promise.all(Array.from({ length: 270 }, () => sender.send(delivery(url))));
    await sendAll();
    expect(receiver.open()).toBe(270);
    await sendAll();
    expect(receiver.accepted()).toBe(270);
  });

  test("are not kept beyond their age", async () => {
    const receiver = await startOnAll();
    const sender = startSender({ maxAgeMs: -1 });
    for (let attempt = 0; attempt < 4; attempt += 1)
      await sender.send(delivery(`https://127.0.0.1:${receiver.port}/`));
    expect(receiver.accepted()).toBe(2);
  });

  test("that the server closes instead of answering are replaced within the attempt", async () => {
    const served = new WeakSet<object>();
    const receiver = await startReceiver(identity, (request, response) => {
      if (served.has(request.socket)) request.socket.destroy();
      else response.end();
      served.add(request.socket);
    });
    onTestFinished(() => receiver.close());
    const sender = startSender();
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect(await sender.send(delivery(`https://127.0.0.1:${receiver.port}/`))).toMatchObject({
        status: 200,
      });
    expect(receiver.accepted()).toBe(3);
  });

  test("that hang make no other attempt to the same host wait", async () => {
    const receiver = await startReceiver(identity, (request, response) => {
      if (request.url === "/healthy") response.end();
    });
    onTestFinished(() => receiver.close());
    const sender = startSender();
    const stop = new AbortController();
    const hanging = Array.from({ length: 50 }, () =>
      sender.send({ ...delivery(`https://127.0.0.1:${receiver.port}/`), signal: stop.signal }),
    );
    const ended = Promise.allSettled(hanging);
    await vi.waitFor(() => expect(receiver.accepted()).toBe(50), PATIENT_MS);
    for (let attempt = 0; attempt < 5; attempt += 1)
      expect(await sender.send(delivery(`https://127.0.0.1:${receiver.port}/healthy`))).toMatchObject({
        status: 200,
      });
    stop.abort(new Error("stopped"));
    const stopped = { status: "rejected", reason: new Error("stopped") };
    expect(await ended).toEqual(Array(50).fill(stopped));
  });
});

test("a fault of this side rejects: it is no result of the endpoint", async () => {
  const receiver = await startOnAll();
  const url = `https://127.0.0.1:${receiver.port}/`;
  const sent = startSender().send({ ...delivery(url), headers: { "webhook-id": "a\nb" } });
  await expect(sent).rejects.toMatchObject({ code: "ERR_INVALID_CHAR" });
  const aborted = startSender().send({ ...delivery(url), signal: AbortSignal.abort(new Error("stopped")) });
  await expect(aborted).rejects.toThrow("stopped");
});
