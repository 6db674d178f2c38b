import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { readStack } from "../../../e2e/platform/stack/testing.ts";
import { setUp } from "../../../e2e/testing/set-up.ts";
import { PATIENT } from "../../../shared/program/testing-deadlines.ts";
import { startTestApp } from "../../testing/app.ts";
import { ROUTE_BOUNDS } from "../../testing/request-bounds.ts";
import { listen, type RunningServer } from "../server/server.ts";

const api = setUp(() => startTestApp({ auditWebhookToken: "of-the-audit-events" }));
let server: RunningServer;
beforeAll(async () => {
  const { limits } = api.deps.config;
  server = await listen(api.app.fetch, { address: "127.0.0.1", port: 0, limits, shutdownDelayMs: 0 });
});
afterAll(async () => {
  await server.drain(0);
});

interface Begun {
  socket: Socket;
  /** All that has come back; empty while the request is under way. */
  received: string;
}

/** Begins a request whose body does not end. */
async function begin(
  method: string,
  path: string,
  { credential, sent }: { credential: string; sent: string | string[] },
): Promise<Begun> {
  const socket = connect({ port: Number(new URL(server.address).port), host: "127.0.0.1" });
  const begun = { socket, received: "" };
  socket.on("data", (data) => {
    begun.received += data.toString();
  });
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  const lines = ["Host: x", `Authorization: Bearer ${credential}`, "Content-Type: application/json"];
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const parts = [sent].flat().map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  socket.write(head + parts.join(""));
  await once(socket, "connect");
  return begun;
}

const statusesOf = (requests: readonly Begun[]) =>
  requests.flatMap(({ received }) => /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? []);

test.each<[string, string | string[], number, number]>([
  ["many", "{", 64, 10],
  // An eighth of 64 MiB, in bodies of 240,000 bytes, and of 30,000 parts of one.
  ["large", `{"name": "${"a".repeat(239_989)}`, 34, 5],
  ["small in their parts", Array(30_000).fill(" "), 1, 5],
])(
  "unfinished bodies of one user that are too %s are 429, and refuse no other user's",
  async (_what, sent, most, more) => {
    const { alice } = readStack().tokens;
    const path = "/api/v1/organizations";
    const begun = await Promise.all(
      Array.from({ length: most }, () => begin("POST", path, { credential: alice, sent })),
    );
    // One after the other: a body that is being refused still counts, and would have another one refused.
    for (let refused = 1; refused <= more; refused += 1) {
      begun.push(await begin("POST", path, { credential: alice, sent }));
      await vi.waitFor(() => expect(statusesOf(begun)).toHaveLength(refused), PATIENT);
    }
    expect(statusesOf(begun)).toEqual(Array(more).fill("429"));
    const body = { name: "Not refused" };
    expect((await api.request("POST", path, { as: "bob", body })).status).toBe(201);
    for (const { socket } of begun) socket.destroy();
    await vi.waitFor(async () => {
      expect((await api.request("POST", path, { body })).status).toBe(201);
    }, PATIENT);
  },
);

// Each of them, as another test proves, is a row of that table.
const routes = Object.keys(ROUTE_BOUNDS).filter((route) => !route.startsWith("GET "));

test.each(routes)(
  "a body for %s, which is no operation, is refused without its credential before it has ended",
  async (route) => {
    const [method = "", path = ""] = route.split(" ");
    const begun = await begin(method, path, { credential: "another token", sent: "a".repeat(200_000) });
    await vi.waitFor(() => expect(statusesOf([begun])).toEqual(["401"]), PATIENT);
  },
);
