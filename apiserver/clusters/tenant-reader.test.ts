import type { RequestListener } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { createTestServers } from "../../shared/tenant/testing-server.ts";
import { readLeftovers } from "./leftovers.ts";
import { toTenantConnection } from "./tenant-reader.ts";
import {
  aCluster,
  aKubeconfig,
  createReader,
  json,
  large,
  listOf,
  manyKeys,
  PATIENT,
  slowBytes,
} from "./testing-tenant.ts";

const { authority, serve, listen, stopAll } = await createTestServers();
afterEach(stopAll);

const kubeconfigOf = (server: string) => aKubeconfig(server, authority.certificate);

/** What the dry run says of the cluster at this address; `kubeconfig` is that of the operator's Secret. */
const read = (url: string, { allMs = PATIENT, kubeconfig = kubeconfigOf(url) } = {}) =>
  readLeftovers(createReader(kubeconfig, allMs), aCluster(url));

describe("what a cluster leaves behind is unknown, with the reason, and never an empty list, when its API server", () => {
  test.each<[string, RequestListener, RegExp]>([
    ["sends 420 MB", large(420), /max size|bytes together/],
    ["lists pages without end", json(listOf([], { continue: "more" })), /more than 400 pages/],
    ["sends no list", json({ kind: "Status" }), /not what Kubernetes specifies/],
    ["lists objects without a name", json(listOf([{ metadata: {}, spec: {} }])), /not what Kubernetes/],
    [
      "lists names that no object can have",
      json(listOf([{ metadata: { name: "x".repeat(254), namespace: "a" }, spec: {} }])),
      /not what Kubernetes/,
    ],
    [
      "lists an object of 300,000 keys",
      json(listOf([{ metadata: manyKeys(300_000), spec: {} }])),
      /not what Kubernetes/,
    ],
    ["lists null", json(listOf([null])), /not what Kubernetes/],
    ["sends HTML", (_request, response) => response.end("<html>"), /not what Kubernetes/],
    ["refuses", json({ kind: "Status", code: 403, message: "no" }, 403), /could not be read: no$/],
    [
      "refuses the user of the credential",
      json(
        { kind: "Status", code: 403, message: 'forbidden: User "cloud.marina.dev:admin" cannot list' },
        403,
      ),
      /: forbidden: the platform cannot list$/,
    ],
    ["breaks its connections", (request) => void request.socket.destroy(), /could not be read/],
  ])("%s", async (_name, respond, reason) => {
    expect(await read(await serve(respond))).toEqual({ unknown: expect.stringMatching(reason) });
  });

  test.each<[string, () => Promise<string>]>([
    ["sends a byte at a time", () => serve(slowBytes)],
    ["never responds", () => serve(() => undefined)],
    ["stalls the TLS handshake", () => listen(createTcpServer(() => undefined))],
    [
      "asks for a wait",
      () => serve((_request, response) => response.writeHead(429, { "retry-after": "1" }).end()),
    ],
  ])("%s", async (_name, start) => {
    expect(await read(await start(), { allMs: 500 })).toEqual({
      unknown: expect.stringMatching(/did not answer within 0.5 s|could not be read/),
    });
  });

  test("redirects, and no other server is called", async () => {
    let redirected = 0;
    const elsewhere = await serve((_request, response) => {
      redirected += 1;
      json(listOf([]))(_request, response);
    });
    const url = await serve((_request, response) => response.writeHead(307, { location: elsewhere }).end());
    expect(await read(url)).toEqual({ unknown: expect.stringMatching(/could not be read/) });
    expect(redirected).toBe(0);
  });

  test("is not the one of the kubeconfig, and neither is called", async () => {
    let called = 0;
    const urls = await Promise.all(
      [1, 2].map(() =>
        serve((_request, response) =>
          json(listOf([]))(
            _request,
            response.on("finish", () => called++),
          ),
        ),
      ),
    );
    const [url = "", other = ""] = urls;
    const kubeconfig = kubeconfigOf(other);
    expect(await read(url, { kubeconfig })).toEqual({ unknown: "The cluster's kubeconfig cannot be used." });
    expect(called).toBe(0);
  });
});

test("an API server that sends 3 MB a page is read up to 64 MB, and no further", async () => {
  let sent = 0;
  const page = JSON.stringify({ ...listOf([], { continue: "more" }), note: "x".repeat(3 * 1024 * 1024) });
  const url = await serve((_request, response) => {
    sent += 1;
    response.writeHead(200, { "content-type": "application/json" }).end(page);
  });
  expect(await read(url)).toEqual({ unknown: expect.stringContaining("67108864 bytes together") });
  expect(sent).toBeLessThanOrEqual(24);
});

test("an API server that answers is asked with the credential of the kubeconfig, in pages of 250", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    asked.push(request.headers.authorization);
    const { pathname, searchParams } = new URL(request.url ?? "", "https://tenant");
    asked.push(`${request.method} ${pathname} ${searchParams.get("limit")}`);
    const items = pathname.endsWith("/services")
      ? [{ metadata: { name: "web", namespace: "shop" }, spec: { type: "LoadBalancer" } }]
      : [];
    json(listOf(items))(request, response);
  });
  expect(await read(url)).toEqual([{ kind: "Service", namespace: "shop", name: "web" }]);
  expect(new Set(asked)).toEqual(
    new Set(["Bearer secret", "GET /api/v1/services 250", "GET /api/v1/persistentvolumes 250"]),
  );
});

test.each([
  ["is no YAML", "clusters: [\n"],
  ["is nothing", ""],
  ["refers to itself without end", "a: &a [*a, *a]\nclusters: *a"],
  [
    "has a CA that is none",
    kubeconfigOf("https://127.0.0.1:1").replace(/(authority-data: ).*/, "$1bm9uZQ=="),
  ],
])("what a cluster leaves behind is unknown when its kubeconfig %s", async (_name, kubeconfig) => {
  expect(await read("https://127.0.0.1:1", { kubeconfig })).toEqual({
    unknown: expect.stringMatching(/kubeconfig cannot be used|could not be read/),
  });
});

test("a read ends with the request that it is made for", async () => {
  const client = new AbortController();
  const url = await serve(() => client.abort());
  const reader = createReader(kubeconfigOf(url), PATIENT, client.signal);
  expect(await readLeftovers(reader, aCluster(url))).toEqual({
    unknown: "The cluster did not answer in time.",
  });
});

test("two reads of one organization take turns", async () => {
  const url = await serve(() => undefined);
  const reader = createReader(kubeconfigOf(url));
  let running = 0;
  let most = 0;
  const one = () =>
    reader.read(aCluster(url), async () => {
      most = Math.max(most, ++running);
      await setImmediate();
      running--;
    });
  await Promise.all([one(), one(), one()]);
  expect(most).toBe(1);
});

test("a read that has no turn in its time says so, and the next one of its organization has one", async () => {
  const url = await serve(() => undefined);
  // How long the fifth one waits for a turn, and how long the last one may take, also on a slow machine.
  const reader = createReader(kubeconfigOf(url), 3_000);
  const hanging = Promise.withResolvers<void>();
  const others = ["a", "b", "c", "d"].map((orgId) =>
    reader.read({ ...aCluster(url), orgId }, () => hanging.promise),
  );
  const fifth = () => reader.read(aCluster(url), async () => "read");
  expect(await fifth()).toEqual({ unknown: "Other clusters are being read; try again." });
  hanging.resolve();
  await Promise.all(others);
  expect(await fifth()).toBe("read");
});

test("a proxy, another server name and no verification in a kubeconfig do not count", () => {
  const url = "https://127.0.0.1:6443";
  const others =
    'proxy-url: "http://127.0.0.1:1"\n      tls-server-name: "other"\n      insecure-skip-tls-verify: true';
  const kubeconfig = kubeconfigOf(url).replace("      server:", `      ${others}\n      server:`);
  expect(kubeconfig).toContain("proxy-url");
  expect(Object.keys(toTenantConnection(kubeconfig, url) ?? {})).toEqual(["server", "ca", "readHeaders"]);
});
