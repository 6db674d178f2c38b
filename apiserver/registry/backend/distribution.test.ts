import { generateKeyPairSync } from "node:crypto";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt } from "jose";
import { afterEach, expect, test } from "vitest";
import { createDistribution } from "./distribution.ts";
import { createBackendSender } from "./http.ts";

const { privateKey: signingKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
});

/** A server in place of the registry; its address. */
async function serve(respond: RequestListener): Promise<string> {
  const started = createServer(respond);
  server = started;
  await new Promise<void>((resolve) => {
    started.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}

const aRegistry = (url: string, now = () => new Date()) =>
  createDistribution({ url, service: "registry", signingKey }, now, createBackendSender(25_000));

test.each<[string, string, RequestListener]>([
  ["refuses", "refused", (_request, response) => void response.writeHead(401).end()],
  ["has a fault", "failed", (_request, response) => void response.writeHead(500).end()],
  ["has too many requests", "failed", (_request, response) => void response.writeHead(429).end()],
  ["responds with nonsense", "failed", (_request, response) => void response.end("<html>")],
  ["responds with another object", "failed", (_request, response) => void response.end('{"tags":"all"}')],
  ["responds with another status", "failed", (_request, response) => void response.writeHead(302).end()],
  [
    "responds with more than 5 MiB",
    "failed",
    (_request, response) => void response.end('{"tags":[]}'.padEnd(5 * 2 ** 20 + 1)),
  ],
  ["closes the connection", "unreachable", (request) => void request.socket.destroy()],
])("a registry that %s is an error of the registry", async (_what, fault, respond) => {
  const registry = aRegistry(await serve(respond));
  await expect(registry.listTags("org-1/web", { after: undefined, limit: 10 })).rejects.toMatchObject({
    name: "BackendError",
    fault,
  });
});

test("a registry that does not respond in time is an error of the registry", async () => {
  const url = await serve(() => undefined);
  await expect(createBackendSender(200)({ method: "GET", url, headers: {} })).rejects.toMatchObject({
    fault: "timeout",
  });
});

test("a manifest without its digest is not believed", async () => {
  const registry = aRegistry(await serve((_request, response) => void response.end("{}")));
  await expect(registry.findManifest("org-1/web", "1")).rejects.toMatchObject({ fault: "failed" });
});

test("its own tokens are for one repository and right alone, and used again for a minute", async () => {
  const tokens: string[] = [];
  const url = await serve((request, response) => {
    tokens.push(request.headers.authorization ?? "");
    if (request.method === "DELETE") response.writeHead(202).end();
    else response.end('{"tags":[]}');
  });
  let nowMs = Date.parse("2026-11-25T09:00:00Z");
  const registry = aRegistry(url, () => new Date(nowMs));
  const list = (repository: string) => registry.listTags(repository, { after: undefined, limit: 10 });
  await list("org-1/web");
  await list("org-1/web");
  await list("org-1/api");
  await registry.deleteTag("org-1/web", "1");
  nowMs += 60_001;
  await list("org-1/web");
  const [first, second, other, deletion, later] = tokens;
  expect(second).toBe(first);
  expect(new Set([first, other, deletion, later]).size).toBe(4);
  expect([first, other, deletion, later].map(toAccess)).toEqual([
    { name: "org-1/web", actions: ["pull"] },
    { name: "org-1/api", actions: ["pull"] },
    { name: "org-1/web", actions: ["pull", "delete"] },
    { name: "org-1/web", actions: ["pull"] },
  ]);
});

test("at most a thousand of its own tokens are kept", async () => {
  const tokens = new Set<string>();
  const url = await serve((request, response) => {
    tokens.add(request.headers.authorization ?? "");
    response.end('{"tags":[]}');
  });
  const now = new Date();
  const registry = aRegistry(url, () => now);
  const list = (n: number) => registry.listTags(`org-1/r${n}`, { after: undefined, limit: 10 });
  for (let n = 0; n < 1000; n++) await list(n);
  expect(tokens.size).toBe(1000);
  await list(0);
  expect(tokens.size).toBe(1001);
});

function toAccess(authorization = ""): unknown {
  const [access] = (decodeJwt(authorization.slice("Bearer ".length)).access ?? []) as {
    name: string;
    actions: string[];
  }[];
  return { name: access?.name, actions: access?.actions };
}
