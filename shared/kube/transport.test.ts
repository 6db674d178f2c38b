import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { PATIENT, tryWithLongerDeadlines } from "../program/testing-deadlines.ts";
import { KubeError } from "./errors.ts";
import {
  closeConnection,
  json,
  type Responder,
  startTestServer,
  status,
  type TestServer,
} from "./testing.ts";
import {
  APPLY_PATCH,
  createTransport,
  type RequestInfo,
  type Transport,
  type TransportOptions,
} from "./transport.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function connect(
  options: Partial<TransportOptions>,
  ...responders: [Responder, ...Responder[]]
): Promise<{ server: TestServer; transport: Transport }> {
  const server = await startTestServer(...responders);
  const transport = createTransport({ connection: { server: server.url }, ...options });
  open.push(
    () => transport.close(),
    () => server.close(),
  );
  return { server, transport };
}

const get = { method: "GET", path: "/x" } as const;
const silent: Responder = () => undefined;

test("a response has status, headers and parsed body", async () => {
  const { server, transport } = await connect({}, json(200, { a: 1 }, { "x-a": "b" }));
  const response = await transport.request({ ...get, query: { a: "b c", limit: 5, none: undefined } });
  expect(response).toMatchObject({ status: 200, headers: { "x-a": "b" }, body: { a: 1 } });
  expect(server.received[0]?.query.toString()).toBe("a=b+c&limit=5");
});

test("consecutive calls share connections", async () => {
  const { server, transport } = await connect({}, json(200, {}));
  for (let call = 0; call < 20; call++) await transport.request(get);
  expect(server.connections()).toBeLessThanOrEqual(2);
});

test("a 429 is retried, also for a create, and not before Retry-After", async () => {
  const { server, transport } = await connect({}, json(429, {}, { "retry-after": "0.2" }), json(201, {}));
  const from = performance.now();
  const response = await transport.request({ method: "POST", path: "/x", body: {} });
  expect(response.status).toBe(201);
  expect(performance.now() - from).toBeGreaterThanOrEqual(195);
  expect(server.received).toHaveLength(2);
});

test("a 429 whose Retry-After exceeds the deadline is returned at once", async () => {
  const { server, transport } = await connect({}, json(429, {}, { "retry-after": "60" }));
  expect((await transport.request({ ...get, timeoutMs: 20_000 })).status).toBe(429);
  expect(server.received).toHaveLength(1);
});

test.each([
  { what: "a read", request: get, tries: 2 },
  { what: "a deletion", request: { method: "DELETE", path: "/x" } as const, tries: 2 },
  {
    what: "a server-side apply",
    request: { method: "PATCH", path: "/x", body: {}, contentType: APPLY_PATCH } as const,
    tries: 2,
  },
  { what: "a create", request: { method: "POST", path: "/x", body: {} } as const, tries: 1 },
  {
    what: "a merge patch",
    request: { method: "PATCH", path: "/x", body: {}, contentType: "application/merge-patch+json" } as const,
    tries: 1,
  },
])("after a broken connection $what is sent $tries time(s)", async ({ request, tries }) => {
  const { server, transport } = await connect({}, closeConnection(), json(200, {}));
  const outcome = await transport.request(request).catch((error: unknown) => error);
  expect(server.received).toHaveLength(tries);
  expect(outcome).toMatchObject(
    tries === 1 ? { status: 0, reason: "Unreachable", isUnavailable: true } : { status: 200 },
  );
});

/** The address of a server that accepts connections and never sends a byte. */
async function startMute(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([
  ["does not respond", "http"],
  ["does not complete the TLS handshake", "https"],
])(
  "a call to a server that %s ends at its deadline, and at once when it is aborted",
  async (_what, scheme) => {
    // The limit of a connection is longer than the deadline, and this clock does not reach it.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const transport = createTransport({ connection: { server: `${scheme}://${await startMute()}` } });
    open.push(() => transport.close());
    const late = transport.request({ ...get, timeoutMs: 5_000 }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await late).toMatchObject({ reason: "DeadlineExceeded", isUnavailable: true });
    const stop = new AbortController();
    const aborted = transport.request({ ...get, signal: stop.signal }).catch((error: unknown) => error);
    stop.abort();
    expect(await aborted).toMatchObject({ isAborted: true });
  },
);

test("the caller's signal aborts the call, which is not a failure", async () => {
  const { server, transport } = await connect({}, silent);
  const stop = new AbortController();
  const call = transport.request({ ...get, signal: stop.signal });
  await vi.waitFor(() => expect(server.received).toHaveLength(1), PATIENT);
  stop.abort();
  await expect(call).rejects.toMatchObject({ isAborted: true, isUnavailable: false });
});

test("a call for a tenant ends when its result is not waited for any more", async () => {
  const { server, transport } = await connect({}, silent);
  const gone = new AbortController();
  const call = transport.request({ ...get, tenant: { tenant: "a", signal: gone.signal } });
  await vi.waitFor(() => expect(server.received).toHaveLength(1), PATIENT);
  gone.abort();
  await expect(call).rejects.toMatchObject({ isAborted: true });
});

test("an unreachable server is a KubeError after the retries", async () => {
  const { server, transport } = await connect({}, silent);
  await server.close();
  await expect(transport.request({ method: "POST", path: "/x", body: {} })).rejects.toBeInstanceOf(KubeError);
});

test("a redirect is never followed", async () => {
  const { server, transport } = await connect({}, (response) =>
    response.writeHead(302, { location: "/elsewhere" }).end(),
  );
  expect((await transport.request(get)).status).toBe(302);
  expect(server.received).toHaveLength(1);
});

test("a 401 is retried once with fresh credentials", async () => {
  const server = await startTestServer(status(401, "Unauthorized"), json(200, {}));
  const readHeaders = async (refresh?: boolean) => ({ Authorization: `Bearer ${refresh ? "new" : "old"}` });
  const transport = createTransport({ connection: { server: server.url, readHeaders } });
  open.push(
    () => transport.close(),
    () => server.close(),
  );
  expect((await transport.request(get)).status).toBe(200);
  expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer old", "Bearer new"]);
});

test("a proxy receives a CONNECT request for the server", async () => {
  const connected = Promise.withResolvers<string | undefined>();
  const proxy = createServer().on("connect", (request, socket) => {
    connected.resolve(request.url);
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const transport = createTransport({
    connection: { server: "https://api.invalid:6443", proxyUrl: `http://127.0.0.1:${port}` },
  });
  open.push(
    () => transport.close(),
    () => new Promise((resolve) => proxy.close(() => resolve())),
  );
  await expect(transport.request({ ...get, timeoutMs: 20_000 })).rejects.toBeInstanceOf(KubeError);
  expect(await connected.promise).toBe("api.invalid:6443");
});

test("requests wait for the rate limit", async () => {
  const { transport } = await connect({ qps: 50, burst: 1 }, json(200, {}));
  const from = performance.now();
  await Promise.all([1, 2, 3].map(() => transport.request(get)));
  expect(performance.now() - from).toBeGreaterThanOrEqual(35);
});

test("every attempt is reported with its status", async () => {
  const seen: RequestInfo[] = [];
  const { transport } = await connect(
    { onRequest: (info) => seen.push(info) },
    json(503, {}),
    closeConnection(),
    json(200, {}),
  );
  await transport.request({ ...get, kindPlural: "clusters" });
  expect(seen.map(({ method, kindPlural, status: code }) => [method, kindPlural, code])).toEqual([
    ["GET", "clusters", 503],
    ["GET", "clusters", 0],
    ["GET", "clusters", 200],
  ]);
});

test("a path in the server's address prefixes every path", async () => {
  const server = await startTestServer(json(200, {}));
  const transport = createTransport({ connection: { server: `${server.url}/clusters/a/` } });
  open.push(
    () => transport.close(),
    () => server.close(),
  );
  await transport.request(get);
  expect(server.received[0]?.path).toBe("/clusters/a/x");
});

test("a stream yields lines as they arrive, also a line in two chunks", async () => {
  const { transport } = await connect({}, (response) => {
    response.writeHead(200).write("one\ntw");
    setImmediate(() => response.end("o\nthree"));
  });
  const lines: string[] = [];
  for await (const line of await transport.openStream({ path: "/x" })) lines.push(line);
  expect(lines).toEqual(["one", "two", "three"]);
});

test("a silent stream ends with a KubeError after its idle time", async () => {
  const { transport } = await connect({}, (response) => response.writeHead(200).write("one\n"));
  const lines = await transport.openStream({ path: "/x", idleTimeoutMs: 50 });
  const read = async () => {
    for await (const line of lines) expect(line).toBe("one");
  };
  await expect(read()).rejects.toMatchObject({ name: "KubeError", reason: "Idle" });
});

test("a stream outlives the deadline of its opening", async () => {
  let deadlineMs = 0;
  const { transport } = await connect({}, (response) => {
    response.writeHead(200).write("one\n");
    setTimeout(() => response.end("two\n"), deadlineMs * 1.1);
  });
  const openWithin = (timeoutMs: number) => {
    deadlineMs = timeoutMs;
    return transport.openStream({ path: "/x", timeoutMs }).catch((error: KubeError) => error);
  };
  const stream = await tryWithLongerDeadlines(openWithin, (result) => result instanceof KubeError);
  if (stream instanceof KubeError) throw stream;
  const lines: string[] = [];
  for await (const line of stream) lines.push(line);
  expect(lines).toEqual(["one", "two"]);
});

test("a rejected stream is a KubeError with the server's message", async () => {
  const { transport } = await connect({}, status(410, "Expired", "too old resource version"));
  await expect(transport.openStream({ path: "/x" })).rejects.toMatchObject({
    isGone: true,
    kubeMessage: "too old resource version",
  });
});

test("leaving a stream early closes its connection", async () => {
  const closed = Promise.withResolvers<void>();
  const { transport } = await connect({}, (response) => {
    response.on("close", closed.resolve);
    response.writeHead(200).write("one\n");
  });
  for await (const line of await transport.openStream({ path: "/x" })) {
    expect(line).toBe("one");
    break;
  }
  await closed.promise;
});
