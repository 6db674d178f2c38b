import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { PATIENT, tryWithLongerDeadlines } from "../../../shared/program/testing-deadlines.ts";
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from "../limits.ts";
import { listen, type RunningServer } from "./server.ts";

const SHUTDOWN_DELAY_MS = 3000;

let running: RunningServer | undefined;

afterEach(async () => {
  await running?.drain(0);
  running = undefined;
});

/** `meanwhile` runs before each response. */
async function serve(limits: Partial<RequestLimits> = {}, meanwhile?: () => Promise<void>): Promise<number> {
  const handle = async (request: Request) => {
    const size = (await request.arrayBuffer().catch(() => new ArrayBuffer(0))).byteLength;
    await meanwhile?.();
    return new Response(`response ${new URL(request.url).pathname} ${size}`);
  };
  running = await listen(handle, {
    address: "127.0.0.1",
    port: 0,
    limits: { ...DEFAULT_REQUEST_LIMITS, ...limits },
    shutdownDelayMs: SHUTDOWN_DELAY_MS,
  });
  return Number(new URL(running.address).port);
}

/** Sends bytes, keeps the connection open, and resolves with all that came back once the server has closed it. */
async function talk(port: number, bytes = ""): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const response = text(socket);
  socket.write(bytes);
  const received = await response;
  socket.destroy();
  return received;
}

/** Like talk, and sends more bytes repeatedly until a response arrives. */
async function trickle(port: number, bytes: string, more: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  let received = "";
  socket.on("data", (data) => (received += data.toString()));
  // Bytes that cross the close on their way are answered with a reset.
  socket.on("error", () => undefined);
  socket.write(bytes);
  const timer = setInterval(() => received === "" && socket.write(more), 50);
  await once(socket, "close");
  clearInterval(timer);
  return received;
}

const GET = "GET /first HTTP/1.1\r\nHost: x\r\n\r\n";

function bodyOf(response: string): { error: { code: string; message: string; request_id: string } } {
  return JSON.parse(response.slice(response.lastIndexOf("\r\n\r\n")));
}

/** The response of a server with short deadlines; asked again where this process stood still meanwhile, which has another response. */
function expectTimeout(expected: RegExp, talkTo: (port: number) => Promise<string>): Promise<string> {
  return vi.waitFor(async () => {
    await running?.drain(0);
    const response = await talkTo(await serve({ headersSeconds: 0.3, requestSeconds: 0.3 }));
    expect(response).toMatch(expected);
    return response;
  }, PATIENT);
}

test("headers that never end get 408 in the envelope and are cut off at their deadline", async () => {
  const response = await expectTimeout(/^HTTP\/1\.1 408 Request Timeout\r\n/, (port) =>
    trickle(port, "GET / HTTP/1.1\r\nHost: x\r\n", "X-Slow: 1\r\n"),
  );
  expect(bodyOf(response).error).toMatchObject({
    code: "request_timeout",
    message: "The request did not arrive in time.",
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
});

test("a connection that sends nothing at all is closed", async () => {
  await expectTimeout(/^(HTTP\/1\.1 408 |$)/, talk);
});

test("a body that trickles is cut off at the deadline of the whole request", async () => {
  const response = await expectTimeout(/^HTTP\/1\.1 408 /, (port) =>
    trickle(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n", "a"),
  );
  expect(response).not.toContain("response /");
});

/** Nothing is read or written for longer than a request may take, and than connections are left unchecked. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const UNCHECKED_MS = 1500;
const COMPLETE = "HTTP/1\\.1 200 .*response / 10";
const LATE =
  "HTTP/1\\.1 503 Service Unavailable\r\nRetry-After: 1\r\n.*The request did not arrive in time, while.*";
const POST_HEAD = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n";

test("requests whose time was over while the server stood still have it anew, and are then 503 with Retry-After", async () => {
  const expected = new RegExp(`^${[COMPLETE, COMPLETE, LATE, LATE].join("\n")}$`, "s");
  const talkWithin = async (deadlineMs: number) => {
    await running?.drain(0);
    const port = await serve({ headersSeconds: deadlineMs / 1000, requestSeconds: deadlineMs / 1000 });
    const begin = (beginning: string) => {
      const socket = connect({ port, host: "127.0.0.1" });
      socket.write(beginning);
      return { socket, response: text(socket) };
    };
    const [head, partOfHead] = [POST_HEAD, POST_HEAD.slice(0, 30)];
    const [body, headers, partOfBody, partOfHeaders] = [head, partOfHead, head, partOfHead].map(begin);
    // Connections are accepted in their order.
    await talk(port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    body?.socket.write("0123456789");
    headers?.socket.write(`${POST_HEAD.slice(30)}0123456789`);
    partOfBody?.socket.write("012345");
    partOfHeaders?.socket.write("Cont");
    standStill(deadlineMs + UNCHECKED_MS);
    const all = [body, headers, partOfBody, partOfHeaders].flatMap((one) => one?.response ?? []);
    return (await Promise.all(all)).join("\n");
  };
  const responses = await tryWithLongerDeadlines(talkWithin, (given) => !expected.test(given));
  expect(responses).toMatch(expected);
});

test("a request has its time anew once, however often the server stands still", async () => {
  const port = await serve({ headersSeconds: 1, requestSeconds: 1 });
  const response = talk(port, `${POST_HEAD}012345`);
  await talk(port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  standStill(1000 + UNCHECKED_MS);
  const timer = setInterval(() => standStill(600), 700);
  expect(await response).toMatch(new RegExp(`^${LATE}`, "s"));
  clearInterval(timer);
});

test.each([
  ["a header line", `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(5000)}\r\n\r\n`],
  [
    "many headers",
    `GET / HTTP/1.1\r\nHost: x\r\n${Array.from({ length: 200 }, (_, n) => `X-${n}: ${"a".repeat(30)}\r\n`).join("")}\r\n`,
  ],
  ["the address", `GET /${"a".repeat(5000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
])("%s beyond the limit is refused before it is processed", async (_, request) => {
  const port = await serve({ maxHeaderBytes: 4096 });
  const response = await talk(port, request);
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(bodyOf(response).error.message).toBe("The address and the headers together are too long.");
});

test.each([
  ["no HTTP at all", "\u0016\u0003\u0001 hello\r\n\r\n"],
  ["a header name with a blank", "GET / HTTP/1.1\r\nHost: x\r\nX Bad: 1\r\n\r\n"],
  ["a folded header", "GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n  X-B: 2\r\n\r\n"],
  ["a bare CR in a header", "GET / HTTP/1.1\r\nHost: x\r\nX-A: 1\rX-B: 2\r\n\r\n"],
  ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
  [
    "a length and chunks",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["a chunk of negative size", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n"],
  ["a line end in the address", "GET /a\nb HTTP/1.1\r\nHost: x\r\n\r\n"],
])("%s is 400 and the connection ends", async (_, request) => {
  const response = await talk(await serve(), request);
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(bodyOf(response).error.code).toBe("bad_request");
});

test.each([
  ["an unknown method", "FETCH / HTTP/1.1\r\nHost: x\r\n\r\n", 501, "not_implemented"],
  ["TRACK", "TRACK / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 501, "not_implemented"],
  ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", 501, "not_implemented"],
  ["no Host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "bad_request"],
  ["a Host that is none", "GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n", 400, "bad_request"],
  ["a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\nConnection: close\r\n\r\n", 400, "bad_request"],
  [
    "an unknown expectation",
    "GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\nConnection: close\r\n\r\n",
    400,
    "bad_request",
  ],
  ["an address of no path", "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400, "bad_request"],
])("%s is refused in the envelope, with the headers of every response", async (_, request, status, code) => {
  const response = await talk(await serve(), request);
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(bodyOf(response).error).toMatchObject({ code, request_id: expect.any(String) });
  expect(response).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m);
  expect(response).toMatch(/^Strict-Transport-Security: max-age=\d+/m);
});

test("TRACE reaches the application, whose paths refuse it with 405", async () => {
  const response = await talk(await serve(), "TRACE /first HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect(response).toContain("response /first");
});

test("garbage after a request is refused after that request's own response, never in its place", async () => {
  const port = await serve({}, () => sleep(100));
  const response = await talk(port, `${GET}GARBAGE\r\n\r\n`);
  expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  expect(response.indexOf("response /first")).toBeLessThan(response.indexOf("HTTP/1.1 400"));
});

test("requests in progress when the drain begins get their responses", async () => {
  const begun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const port = await serve({}, () => {
    begun.resolve();
    return mayEnd.promise;
  });
  const response = talk(port, GET);
  await begun.promise;
  const drained = running?.drain(60_000);
  mayEnd.resolve();
  await drained;
  await expect(response).resolves.toContain("response /first");
});

test("before the drain a connection is closed by a response that says so, never without one", async () => {
  const port = await serve();
  const socket = await openConnection(port);
  const announced = running?.announceClose();
  const response = text(socket);
  socket.write(GET.replace("first", "second"));
  await expect(response).resolves.toMatch(/^Connection: close\r\n[\s\S]*response \/second/im);
  await announced;
});

test("clients are asked to leave a connection that is idle for less than the shutdown delay", async () => {
  const response = await talk(await serve(), GET + GET.replace("Host: x", "Host: x\r\nConnection: close"));
  const [kept, closed] = response.split("response /first").map((part) => part.toLowerCase());
  expect(kept).toContain("\r\nkeep-alive: timeout=2\r\n");
  expect(kept).toContain("\r\nconnection: keep-alive\r\n");
  expect(closed).toContain("\r\nconnection: close\r\n");
  expect(closed).not.toContain("keep-alive");
});

test("an idle connection is kept until the drain, and new ones are served", async () => {
  const port = await serve();
  const socket = await openConnection(port);
  const announced = running?.announceClose();
  expect(await ask(port)).toContain("response /first");
  expect(socket.readyState).toBe("open");
  await announced;
  expect(socket.readyState).toBe("open");
  await running?.drain(60_000);
  if (!socket.closed) await once(socket, "close");
});

test("an address has at most its number of connections, and the next one after it closed one", async () => {
  const port = await serve({ maxConnectionsPerAddress: 2 });
  const held = [await openConnection(port), await openConnection(port)];
  await expect(ask(port)).rejects.toThrow(/closed without a response|ECONNRESET|EPIPE/);
  held[0]?.destroy();
  await vi.waitFor(async () => expect(await ask(port)).toContain("response /first"), PATIENT);
  held[1]?.destroy();
});

test("connections of a trusted proxy do not count", async () => {
  const port = await serve({ maxConnectionsPerAddress: 1, trustedProxies: ["127.0.0.0/8"] });
  const held = [await openConnection(port), await openConnection(port)];
  expect(await ask(port)).toContain("response /first");
  for (const socket of held) socket.destroy();
});

/** A connection that has had one response, and stays open. */
async function openConnection(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.write(GET);
  await once(socket, "data");
  return socket;
}

/** The response to one request on a new connection; rejects when the connection is closed without one. */
async function ask(port: number): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.write(GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  const response = await text(socket);
  if (response === "") throw new Error("closed without a response");
  return response;
}
