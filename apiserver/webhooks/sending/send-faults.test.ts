import { createServer as createTcpServer } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { createResolver } from "./resolver.ts";
import type { SenderOptions } from "./send.ts";
import { type Listening, listen } from "./testing-receiver.ts";
import {
  answerWith,
  authority,
  delivery,
  dns,
  HOSTS,
  PATIENT_MS,
  SHORT_MS,
  setUpSenders,
  start,
  startHttps,
  startSender,
  startTls,
} from "./testing-sender.ts";

setUpSenders();

describe("each fault of a receiver has its class and leaves no connection", () => {
  const expectFailure = async (
    receiver: Listening,
    errorClass: string,
    { host = "127.0.0.1", ...options }: Partial<SenderOptions> & { host?: string } = {},
  ) => {
    const result = await startSender(options).send(delivery(`https://${host}:${receiver.port}/`));
    expect(result).toEqual({
      errorClass,
      message: expect.stringMatching(/^\S.{5,}/),
      durationMs: expect.any(Number),
    });
    await vi.waitFor(() => expect(receiver.open()).toBe(0), PATIENT_MS);
    return result;
  };

  test("no answer: timeout", async () => {
    await expectFailure(await startHttps(() => undefined), "timeout", { timeoutMs: SHORT_MS });
  });

  test("headers byte by byte: timeout", async () => {
    const receiver = await startTls((socket) => {
      const bytes = `HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(5000)}`;
      let sent = 0;
      const timer = setInterval(() => socket.write(bytes.charAt(sent++)), 20);
      socket.on("close", () => clearInterval(timer));
    });
    await expectFailure(receiver, "timeout", { timeoutMs: SHORT_MS });
  });

  test("no handshake: timeout", async () => {
    const receiver = await start(listen(createTcpServer((socket) => socket.resume())));
    await expectFailure(receiver, "timeout", { timeoutMs: SHORT_MS });
  });

  test("nothing listens: connect", async () => {
    const receiver = await startHttps(() => undefined);
    receiver.close();
    await expectFailure(receiver, "connect");
    await expectFailure(receiver, "connect", { host: "closed-first.example.com" });
  });

  test("reset before the handshake: connect", async () => {
    await expectFailure(
      await start(listen(createTcpServer((socket) => socket.resetAndDestroy()))),
      "connect",
    );
  });

  test("reset and close before an answer: connect", async () => {
    const reset: Listening = await startTls((socket) => socket.once("data", () => reset.reset()));
    await expectFailure(reset, "connect");
    const closed = await startTls((socket) => socket.once("data", () => socket.end()));
    await expectFailure(closed, "connect");
  });

  test("no TLS: tls", async () => {
    const receiver = await start(
      listen(createTcpServer((socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n"))),
    );
    await expectFailure(receiver, "tls");
  });

  test.each([
    ["expired", { hosts: HOSTS, expired: true }, /expired/],
    ["self-signed", { hosts: HOSTS, selfSigned: true }, /self-signed/],
    ["for another name", { hosts: ["other.example.org"] }, /does not match|not in the cert/],
  ])("a certificate that is %s: tls", async (_, issued, reason) => {
    const receiver = await startHttps((__, response) => response.end(), await authority.issue(issued));
    const results = [
      await expectFailure(receiver, "tls"),
      await expectFailure(receiver, "tls", { host: "receiver.example.com" }),
    ];
    for (const result of results) expect("message" in result && result.message).toMatch(reason);
  });

  test("a certificate of an authority that is not trusted: tls", async () => {
    await expectFailure(await startHttps((_, response) => response.end()), "tls", { caBundle: undefined });
  });

  test("HTTP/2 only: protocol", async () => {
    const negotiated = await startTls(() => undefined, { ALPNProtocols: ["h2"] });
    await expectFailure(negotiated, "protocol");
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    await expectFailure(await startTls((socket) => socket.resume().write(settings)), "protocol");
  });

  test("something else than HTTP: protocol", async () => {
    await expectFailure(await startTls(answerWith("220 mail.example.com ESMTP\r\n")), "protocol");
  });

  test("headers without an end: protocol", async () => {
    const bytes = `HTTP/1.1 200 OK\r\n${`X: ${"x".repeat(1000)}\r\n`.repeat(100)}`;
    await expectFailure(await startTls(answerWith(bytes)), "protocol");
  });

  test("informational answers without an end: protocol", async () => {
    const receiver = await startTls((socket) => {
      const flood = () => {
        while (socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100)));
      };
      socket.on("drain", flood);
      socket.once("data", flood);
    });
    await expectFailure(receiver, "protocol");
  });

  test("another protocol by upgrade: protocol", async () => {
    const receiver = await startTls(
      answerWith("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
    );
    await expectFailure(receiver, "protocol");
  });

  test("a name that does not exist or does not resolve in time: dns", async () => {
    const receiver = await startHttps(() => undefined);
    await expectFailure(receiver, "dns", { host: "absent.example.com" });
    const resolver = createResolver({ servers: [dns.address], timeoutMs: SHORT_MS });
    await expectFailure(receiver, "dns", { host: "silent.example.com", resolver });
  });

  test("one private address among fifty: blocked_address, and none of them is called", async () => {
    const receiver = await startHttps(() => undefined);
    await expectFailure(receiver, "blocked_address", { host: "one-of-fifty.example.com" });
    expect(receiver.accepted()).toBe(0);
  });
});
