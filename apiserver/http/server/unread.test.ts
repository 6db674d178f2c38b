import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Hono } from "hono";
import { afterEach, expect, test, vi } from "vitest";
import { createLogger } from "../../../shared/program/log.ts";
import { PATIENT } from "../../../shared/program/testing-deadlines.ts";
import type { Principal } from "../authentication/principal.ts";
import { createByteBudget } from "../contract/byte-budget.ts";
import { STREAMED_FILE_BYTES, streamFile } from "../contract/stream-file.ts";
import type { HttpEnv } from "../env.ts";
import { handleError } from "../handle-error.ts";
import { DEFAULT_REQUEST_LIMITS } from "../limits.ts";
import { listen, type RunningServer } from "./server.ts";
import { limitUnread } from "./unread.ts";

/** More than the sockets of both ends buffer. */
const LARGE_BYTES = 16 * 1024 ** 2;
/** A caller has an eighth of it: room for one large response, not for two. */
const BUDGET_BYTES = 12 * LARGE_BYTES;

let running: RunningServer | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets.splice(0)) socket.destroy();
  await running?.drain(0);
});

function anOpenStream(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("data: 1\n\n")) });
}

async function* someTexts(bytes: number, onEnd?: () => void): AsyncGenerator<string> {
  try {
    for (let sent = 0; sent < bytes; sent += 65_536) yield "a".repeat(Math.min(bytes, 65_536));
  } finally {
    onEnd?.();
  }
}

async function* failingTexts(length = 65_536): AsyncGenerator<string> {
  yield "a".repeat(length);
  throw new Error("no database");
}

/** A large body that can be read once the client has closed its connection. */
function aBodyOnceClosed({ outgoing }: HttpEnv["Bindings"]): ReadableStream {
  return new ReadableStream({
    async pull(controller) {
      if (outgoing?.closed === false) await once(outgoing, "close");
      controller.enqueue(Buffer.alloc(LARGE_BYTES));
      controller.close();
    },
  });
}

/**
 * Serves /large, /sized, which says its length, /json, /left and /small to the user in the query; returns how to leave
 * a response unread, and to read one.
 */
async function serve(responseSeconds: number) {
  const app = new Hono<HttpEnv>();
  const left = Promise.withResolvers<void>();
  app.use(async (c, next) => {
    c.set("requestId", "r");
    c.set("log", createLogger({ name: "test", level: "silent" }));
    c.header("Cache-Control", "public");
    c.set("principal", { kind: "user", userId: c.req.query("user") } as Principal);
    c.set("input", { params: {}, query: { dry_run: c.req.query("dry_run") !== undefined } });
    await next();
  });
  app.use("/left", async (_, next) => {
    await next();
    left.resolve();
  });
  app.use(limitUnread(createByteBudget({ maxBytes: BUDGET_BYTES, what: "responses" }), responseSeconds));
  app.all("/large", (c) => c.body(new Uint8Array(LARGE_BYTES), 200, { "Content-Type": "text/plain" }));
  app.get("/sized", (c) =>
    c.body(new Uint8Array(LARGE_BYTES), 200, {
      "Content-Type": "text/plain",
      "Content-Length": String(LARGE_BYTES),
    }),
  );
  app.get("/larger", (c) => c.body(new Uint8Array(2 * LARGE_BYTES), 200, { "Content-Type": "text/plain" }));
  // With its quotes.
  app.get("/json", (c) => c.json("a".repeat(LARGE_BYTES - 2)));
  app.get("/left", (c) => c.body(aBodyOnceClosed(c.env), 200, { "Content-Type": "text/plain" }));
  app.get("/file", (c) => streamFile(c, someTexts(3 * LARGE_BYTES), { "Content-Type": "text/plain" }));
  const endlessEnded = Promise.withResolvers<void>();
  app.get("/endless", (c) =>
    streamFile(c, someTexts(Number.POSITIVE_INFINITY, endlessEnded.resolve), {
      "Content-Type": "text/plain",
    }),
  );
  app.get("/failing", (c) => streamFile(c, failingTexts(), { "Content-Type": "text/plain" }));
  app.onError(handleError);
  app.get("/unreadable", (c) => streamFile(c, failingTexts(0), { "Content-Type": "text/plain" }));
  app.get("/short", (c) => streamFile(c, someTexts(3), { "Content-Type": "text/plain" }));
  app.get("/small", (c) => c.text("small"));
  app.get("/open", (c) => c.body(anOpenStream(), 200, { "Content-Type": "text/event-stream" }));
  app.get("/stream", (c) => c.body("data: 1\n\n", 200, { "Content-Type": "text/event-stream" }));
  const limits = DEFAULT_REQUEST_LIMITS;
  running = await listen(app.fetch, { address: "127.0.0.1", port: 0, limits, shutdownDelayMs: 0 });
  const { address } = running;
  return {
    /** Sends requests on one connection, each without waiting for its response; resolves once the first has begun. */
    leaveUnread: async (...requests: readonly string[]): Promise<Socket> => {
      const socket = connect({ port: Number(new URL(address).port), host: "127.0.0.1" });
      socket.on("error", () => undefined);
      sockets.push(socket);
      for (const request of requests) socket.write(`${request} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, "readable");
      return socket;
    },
    /** The server no longer sends /endless. */
    endlessEnded: endlessEnded.promise,
    /** A GET unless the method is said. */
    read: (request: string) => {
      const [path, method = "GET"] = request.split(" ").toReversed();
      return fetch(`${address}${path}`, { method });
    },
    /** Sends a request for /left and leaves before its response; resolves once the server has dealt with it. */
    leave: async (user: string): Promise<void> => {
      const socket = connect({ port: Number(new URL(address).port), host: "127.0.0.1" });
      socket.end(`GET /left?user=${user} HTTP/1.1\r\nHost: x\r\n\r\n`, () => socket.destroy());
      await left.promise;
    },
  };
}

test.each(["GET /large?", "GET /sized?", "GET /json?", "POST /large?dry_run&"])(
  "responses of %s beyond the bytes that a caller leaves unread are 429, until it has read them; others are served",
  async (request) => {
    const { leaveUnread, read } = await serve(600);
    const socket = await leaveUnread(`${request}user=a`);
    const refused = await read(`${request}user=a`);
    const headers = ["retry-after", "cache-control"].map((name) => refused.headers.get(name));
    expect([refused.status, ...headers]).toEqual([429, "1", "private, no-cache"]);
    expect(await refused.json()).toMatchObject({ error: { code: "rate_limited" } });
    expect((await read("/small?user=a")).status).toBe(200);
    const other = await read(`${request}user=b`);
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, LARGE_BYTES]);
    socket.destroy();
    await vi.waitFor(async () => {
      const again = await read(`${request}user=a`);
      await again.arrayBuffer();
      expect(again.status).toBe(200);
    }, PATIENT);
  },
);

test("a read that is larger than a caller's whole share is 400 for good, and takes no room", async () => {
  const { read } = await serve(600);
  const refused = await read("/larger?user=a");
  expect([refused.status, refused.headers.get("retry-after"), await refused.json()]).toEqual([
    400,
    null,
    {
      error: expect.objectContaining({
        code: "bad_request",
        message: `This response would have ${2 * LARGE_BYTES} bytes, and one may have ${BUDGET_BYTES / 8}; ask for less at once, or for another form of it.`,
      }),
    },
  ]);
  expect((await (await read("/large?user=a")).arrayBuffer()).byteLength).toBe(LARGE_BYTES);
});

test("what a write has done is reported beyond its caller's share, for which the oldest unread response is cut off", async () => {
  const { leaveUnread, read } = await serve(600);
  const oldest = await leaveUnread("GET /large?user=a");
  const ofAnother = await leaveUnread("GET /large?user=b");
  const closed = once(oldest, "close");
  expect((await (await read("POST /large?user=a")).arrayBuffer()).byteLength).toBe(LARGE_BYTES);
  oldest.resume();
  await closed;
  expect([oldest.bytesRead < LARGE_BYTES, ofAnother.destroyed]).toEqual([true, false]);
});

test("a response that is not read in its time is cut off, and takes no room any longer", async () => {
  const { leaveUnread, read } = await serve(0.1);
  const socket = await leaveUnread("GET /large?user=a");
  await vi.waitFor(async () => {
    const again = await read("/large?user=a");
    // It is cut off, too, when it is read more slowly than that.
    await again.body?.cancel().catch(() => undefined);
    expect(again.status).toBe(200);
  }, PATIENT);
  const closed = once(socket, "close");
  socket.resume();
  await closed;
  expect(socket.bytesRead).toBeLessThan(LARGE_BYTES);
});

test("a response that waits behind a stream is cut off with it in its time, and takes no room any longer", async () => {
  const { leaveUnread, read } = await serve(0.1);
  const socket = await leaveUnread("GET /open?user=a", "GET /large?user=a");
  const closed = once(socket, "close");
  socket.resume();
  await closed;
  const again = await read("/large?user=a");
  await again.body?.cancel().catch(() => undefined);
  expect(again.status).toBe(200);
});

test("a response that waits behind a stream counts until its connection is closed", async () => {
  const { leaveUnread, read } = await serve(600);
  const socket = await leaveUnread("GET /open?user=a", "GET /large?user=a");
  await vi.waitFor(async () => {
    const refused = await read("/large?user=a");
    await refused.arrayBuffer();
    expect(refused.status).toBe(429);
  }, PATIENT);
  socket.destroy();
  await vi.waitFor(async () => {
    const again = await read("/large?user=a");
    await again.arrayBuffer();
    expect(again.status).toBe(200);
  }, PATIENT);
});

test("a response whose client leaves while it is made takes no room", async () => {
  const { leave, read } = await serve(600);
  await leave("a");
  expect((await read("/large?user=a")).status).toBe(200);
});

test("a stream is neither kept back nor counted", async () => {
  const { leaveUnread, read } = await serve(600);
  await leaveUnread("GET /large?user=a");
  await leaveUnread("GET /stream?user=a");
  expect(await (await read("/stream?user=a")).text()).toBe("data: 1\n\n");
});

test("a streamed file is larger than a caller's share, and counts for what waits of it", async () => {
  const { leaveUnread, read } = await serve(600);
  expect((await (await read("/file?user=a")).arrayBuffer()).byteLength).toBe(3 * LARGE_BYTES);
  const places = Math.floor(BUDGET_BYTES / 8 / STREAMED_FILE_BYTES);
  for (let file = 0; file < places; file++) await leaveUnread("GET /file?user=a");
  expect((await read("/file?user=a")).status).toBe(429);
});

/** Reads more than was sent before: the server has written some of it meanwhile. */
async function readOn(socket: Socket): Promise<void> {
  for (let left = LARGE_BYTES; left > 0; ) {
    const chunk: Buffer | null = socket.read();
    if (chunk !== null) left -= chunk.length;
    else if (socket.readableEnded || socket.destroyed) throw new Error("the file was cut off");
    else await once(socket, "readable");
  }
}

test.each([
  ["once nothing of it is read in the time of a response", 60, 59_000],
  ["after an hour, however it is read", 86_400, 1_199_000],
])("a streamed file is cut off %s, and not before", async (_, responseSeconds, stepMs) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { leaveUnread, endlessEnded } = await serve(responseSeconds);
  const socket = await leaveUnread("GET /endless?user=a");
  for (let turn = 0; turn < 3; turn++) {
    await readOn(socket);
    vi.advanceTimersByTime(stepMs);
  }
  await readOn(socket);
  expect(socket.destroyed).toBe(false);
  vi.advanceTimersByTime(61_000);
  await endlessEnded;
});

test("a file that fails is refused before anything is sent, and then cut off: no part is taken for the whole", async () => {
  const { read } = await serve(600);
  expect((await read("/unreadable?user=a")).status).toBe(500);
  const response = await read("/failing?user=a");
  await expect(response.arrayBuffer()).rejects.toThrow("terminated");
});

test("a short file is sent with its length, and counts that", async () => {
  const { leaveUnread, read } = await serve(600);
  await leaveUnread("GET /large?user=a");
  const response = await read("/short?user=a");
  expect([response.status, response.headers.get("content-length")]).toEqual([200, "3"]);
});
