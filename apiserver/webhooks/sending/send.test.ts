import { gzipSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { tryWithLongerDeadlines } from "../../../shared/program/testing-deadlines.ts";
import type { SenderOptions } from "./send.ts";
import { type Listening, startReceiver } from "./testing-receiver.ts";
import {
  answerWith,
  BODY,
  delivery,
  HEADERS,
  identity,
  PATIENT_MS,
  setUpSenders,
  start,
  startHttps,
  startSender,
  startTls,
} from "./testing-sender.ts";

setUpSenders();

describe("a delivery", () => {
  test("has the exact bytes and headers, the host in Host and in the server name of TLS", async () => {
    const seen: unknown[] = [];
    const { port } = await startHttps((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { servername } = request.socket as unknown as { servername: string };
        seen.push([
          request.method,
          request.url,
          request.headers,
          servername,
          Buffer.concat(chunks).toString(),
        ]);
        response.writeHead(202, { "X-Seen": ["a", "b"] }).end("thanks\0€");
      });
    });
    const sender = startSender();
    const url = `https://receiver.example.com:${port}/hook?token=a%20b`;
    for (const body of [BODY, new TextEncoder().encode(BODY)])
      expect(await sender.send(delivery(url, { body }))).toEqual({
        status: 202,
        responseHeaders: expect.objectContaining({ "x-seen": "a, b" }),
        responseBody: "thanks\uFFFD€",
        durationMs: expect.any(Number),
      });
    const headers = {
      ...HEADERS,
      host: `receiver.example.com:${port}`,
      "content-length": String(Buffer.byteLength(BODY)),
      "accept-encoding": "identity",
      connection: "keep-alive",
    };
    expect(seen).toEqual(Array(2).fill(["POST", "/hook?token=a%20b", headers, "receiver.example.com", BODY]));
  });

  test("reaches receivers by IPv6, as an address and by localhost", async () => {
    const { port } = await start(startReceiver(identity, (_, response) => response.end(), "::1"));
    const sender = startSender();
    for (const host of ["[::1]", "localhost"])
      expect(await sender.send(delivery(`https://${host}:${port}/`))).toMatchObject({ status: 200 });
  });

  test("reaches a name whose first address does not answer", async () => {
    const { port } = await startHttps((_, response) => response.end());
    const url = `https://closed-first.example.com:${port}/`;
    expect(await startSender().send(delivery(url))).toMatchObject({ status: 200 });
  });

  test.each([200, 201, 204, 299])("that is answered with %d succeeded", async (status) => {
    const { port } = await startHttps((_, response) => response.writeHead(status).end());
    const result = await startSender().send(delivery(`https://127.0.0.1:${port}/`));
    expect(result).toMatchObject({ status });
    expect(result).not.toHaveProperty("errorClass");
  });

  test.each([300, 304, 400, 410, 500, 503, 999])(
    "that is answered with %d failed with the class status",
    async (status) => {
      const { port } = await startHttps((_, response) => response.writeHead(status).end());
      const result = await startSender().send(delivery(`https://127.0.0.1:${port}/`));
      expect(result).toMatchObject({ status, errorClass: "status" });
    },
  );

  test.each(["99999999", "-1", "Mon, 23 Nov 2026 10:02:00 GMT"])(
    "that is answered with 429 and Retry-After: %s shows that header",
    async (value) => {
      const { port } = await startHttps((_, response) =>
        response.writeHead(429, { "Retry-After": value }).end(),
      );
      const result = await startSender().send(delivery(`https://127.0.0.1:${port}/`));
      expect(result).toMatchObject({ status: 429, responseHeaders: { "retry-after": value } });
    },
  );

  test("is not redirected", async () => {
    const paths: (string | undefined)[] = [];
    const { port } = await startHttps((request, response) => {
      paths.push(request.url);
      response.writeHead(307, { Location: `https://127.0.0.1:${port}/private` }).end();
    });
    const result = await startSender().send(delivery(`https://127.0.0.1:${port}/public`));
    expect(result).toMatchObject({ status: 307, errorClass: "status" });
    expect(paths).toEqual(["/public"]);
  });

  test("succeeds after a few informational answers", async () => {
    const { port } = await startTls(
      answerWith(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      ),
    );
    expect(await startSender().send(delivery(`https://127.0.0.1:${port}/`))).toMatchObject({
      status: 200,
      responseBody: "ok",
    });
  });
});

describe("the body of an answer changes nothing after the status", () => {
  const sendTo = (receiver: Listening, options: Partial<SenderOptions> = {}) =>
    startSender(options).send(delivery(`https://127.0.0.1:${receiver.port}/`));

  const expectCut = async (receiver: Listening, body: RegExp, sent = sendTo(receiver)) => {
    const result = await sent;
    expect(result).not.toHaveProperty("errorClass");
    expect(result).toMatchObject({ status: 200, responseBody: expect.stringMatching(body) });
    await vi.waitFor(() => expect(receiver.open()).toBe(0), PATIENT_MS);
  };

  /** The deadline ends the body; the status has to come before it. */
  const sendUntilDeadline = (receiver: Listening) =>
    tryWithLongerDeadlines(
      (timeoutMs) => sendTo(receiver, { timeoutMs }),
      ({ errorClass }) => errorClass === "timeout",
    );

  /** Something ends the body after a delay; its beginning has to be read before that. */
  const sendWithDelays = (receiver: Listening, setDelay: (delayMs: number) => void) =>
    tryWithLongerDeadlines(
      (delayMs) => {
        setDelay(delayMs);
        return sendTo(receiver);
      },
      (result) => !("responseBody" in result) || result.responseBody === "",
    );

  test("when it hangs", async () => {
    const receiver = await startHttps((_, response) => response.writeHead(200).write("begun"));
    await expectCut(receiver, /^begun$/, sendUntilDeadline(receiver));
  });

  test("when it comes byte by byte", async () => {
    const receiver = await startHttps((_, response) => {
      const timer = setInterval(() => response.write("x"), 50);
      response.on("close", () => clearInterval(timer));
    });
    await expectCut(receiver, /^x+$/, sendUntilDeadline(receiver));
  });

  test("when the connection is reset in it", async () => {
    let delayMs = 0;
    const receiver: Listening = await startHttps((_, response) => {
      response.writeHead(200, { "Content-Length": 1000 });
      response.write("begun", () => setTimeout(() => receiver.reset(), delayMs));
    });
    await expectCut(
      receiver,
      /^begun$/,
      sendWithDelays(receiver, (ms) => (delayMs = ms)),
    );
  });

  test("when it is not valid", async () => {
    let delayMs = 0;
    const receiver = await startTls((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n");
        setTimeout(() => socket.write("zz\r\n"), delayMs);
      });
    });
    await expectCut(
      receiver,
      /^begun$/,
      sendWithDelays(receiver, (ms) => (delayMs = ms)),
    );
  });

  test("when it has 100 MB, of which 16 KiB are read", async () => {
    let written = 0;
    const receiver = await startHttps((_, response) => {
      const write = () => {
        while (written < 100_000_000 && response.write("x".repeat(65_536))) written += 65_536;
      };
      response.on("drain", write);
      write();
    });
    await expectCut(receiver, /^x{16384}$/);
    expect(written).toBeLessThan(50_000_000);
  });

  test("when it is compressed: it is not decompressed", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const receiver = await startHttps((_, response) =>
      response.writeHead(200, { "Content-Encoding": "gzip" }).end(bomb),
    );
    const result = await startSender().send(delivery(`https://127.0.0.1:${receiver.port}/`));
    expect(result).toMatchObject({ status: 200 });
    expect("responseBody" in result && result.responseBody.length).toBeLessThanOrEqual(16_384);
  });

  test("when the cut divides a character, which is left out", async () => {
    const receiver = await startHttps((_, response) => response.end("€".repeat(10_000)));
    await expectCut(receiver, /^€{5461}$/);
  });
});
