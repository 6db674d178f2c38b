import type { RequestListener } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { serviceAccountKind } from "../../shared/kube/core-kinds.ts";
import type { TenantDeadlines } from "../../shared/tenant/connect.ts";
import { listAllPages } from "../../shared/tenant/tenant-client.ts";
import { createTestServers } from "../../shared/tenant/testing-server.ts";
import { probeEndpoint } from "../cluster/probe.ts";
import { composeAccessBinding, ensureBinding, ensureBindings, type TenantBinding } from "./binding.ts";
import { PAGES_PER_CONNECTION } from "./sweep.ts";

const SHORT = { callMs: 300, allMs: 500 };
const MEGABYTE = Buffer.alloc(1024 * 1024, " ");

const { authority, serve, listen, connect, stopAll } = await createTestServers();
afterEach(stopAll);

const sync = (server: string, deadlines?: TenantDeadlines) =>
  connect(
    server,
    (client) =>
      ensureBindings(client, () => ({ desired: [], isKept: () => false, revision: "" }), {
        sweeps: new Map(),
        key: "hostile",
        onAdmins: () => undefined,
      }),
    deadlines,
  );

const json =
  (body: unknown, status = 200): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };

const pageOf = (items: unknown, metadata: unknown = {}) => ({
  kind: "ClusterRoleBindingList",
  metadata,
  items,
});

const endlessBody: RequestListener = (_request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  const write = () => {
    while (!response.destroyed && response.write(MEGABYTE));
  };
  response.on("drain", write);
  write();
};

const slowDrip: RequestListener = (_request, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  const timer = setInterval(() => response.write(" "), 100);
  response.on("close", () => clearInterval(timer));
};

describe("an API server of a tenant", () => {
  test.each<[string, RequestListener, object]>([
    [
      "that never ends its response",
      endlessBody,
      { status: 0, kubeMessage: expect.stringMatching(/max size/) },
    ],
    [
      "that sends a list of some megabytes",
      json(pageOf(Array.from({ length: 3000 }, () => composeAccessBinding("x".repeat(1000), "ca")))),
      { status: 0, kubeMessage: expect.stringMatching(/max size/) },
    ],
    ["whose list never ends", json(pageOf([], { continue: "more" })), { reason: "InvalidResponse" }],
    [
      "whose list goes on after a name of a megabyte",
      json(pageOf([], { continue: "x".repeat(1_000_000) })),
      { reason: "InvalidResponse", kubeMessage: expect.stringContaining("so long a name") },
    ],
    ["whose list is no list", json(pageOf({ length: 1e9 })), { reason: "InvalidResponse" }],
    ["whose list has no metadata", json([]), { reason: "InvalidResponse" }],
    ["whose objects have no name", json(pageOf([{ metadata: {} }])), { reason: "InvalidResponse" }],
    ["whose objects are null", json(pageOf([null])), { reason: "InvalidResponse" }],
    [
      "whose subjects are of another type",
      json(pageOf([{ ...composeAccessBinding("a", "ca"), subjects: "everybody" }])),
      { reason: "InvalidResponse" },
    ],
    ["that sends HTML", (_request, response) => response.end("<html>"), { reason: "InvalidResponse" }],
    [
      "whose error is of another type",
      json({ kind: "Status", message: { toString: 1 }, reason: ["x"], details: 1, code: "200" }, 403),
      { status: 403, reason: "Forbidden" },
    ],
    [
      "whose error is long",
      json({ kind: "Status", message: "x".repeat(100_000), reason: "Forbidden" }, 403),
      { status: 403, kubeMessage: expect.stringMatching(/^x{300}$/) },
    ],
    [
      "that demands a wait of a day",
      (_request, response) => response.writeHead(429, { "retry-after": "86400" }).end(),
      { status: 429 },
    ],
  ])("%s is an error", async (_name, respond, expected) => {
    await expect(sync(await serve(respond))).rejects.toMatchObject(expected);
  });

  test.each<[string, () => Promise<string>]>([
    ["sends a byte at a time", () => serve(slowDrip)],
    ["never responds", () => serve(() => undefined)],
    ["stalls the TLS handshake", () => listen(createTcpServer(() => undefined))],
  ])("that %s is left at the deadline", async (_name, start) => {
    await expect(sync(await start(), SHORT)).rejects.toMatchObject({ status: 0, reason: "DeadlineExceeded" });
  });

  test("that is slow at each of many calls is left at the deadline of all of them", async () => {
    let calls = 0;
    const url = await serve((_request, response) => {
      calls += 1;
      setTimeout(() => json(pageOf([], { continue: "more" }))(_request, response), 200);
    });
    const deadlines = { callMs: 60_000, allMs: 1_000 };
    await expect(sync(url, deadlines)).rejects.toMatchObject({ reason: "DeadlineExceeded" });
    expect(calls).toBeLessThan(PAGES_PER_CONNECTION);
  });

  test("that redirects is an error, and no other server is called", async () => {
    let redirected = 0;
    const elsewhere = await serve((_request, response) => {
      redirected += 1;
      json(pageOf([]))(_request, response);
    });
    const url = await serve((_request, response) =>
      response.writeHead(307, { location: `${elsewhere}/` }).end(),
    );
    await expect(sync(url)).rejects.toMatchObject({ status: 307 });
    expect(redirected).toBe(0);
  });

  test("is asked in pages for what is ours, and then for roles and the bindings of others", async () => {
    const queries: URLSearchParams[] = [];
    const url = await serve((request, response) => {
      const { searchParams } = new URL(request.url ?? "", "https://tenant");
      queries.push(searchParams);
      json(pageOf([], queries.length < 3 ? { continue: `${queries.length}` } : {}))(request, response);
    });
    await sync(url);
    expect(queries.map((query) => query.get("continue"))).toEqual([null, "1", "2", null, null, null, null]);
    expect(queries.map((query) => query.get("limit"))).toEqual(queries.map(() => "250"));
    const ours = "app.kubernetes.io/managed-by=marina-operator";
    expect(queries.map((query) => query.get("labelSelector"))).toEqual([ours, ours, ours, "", "", "", ""]);
  });

  test("that makes its pages too large is read in smaller ones, down to an object a page, and never in larger ones again", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}`);
    const limits: (string | null)[] = [];
    const url = await serve((request, response) => {
      const { searchParams } = new URL(request.url ?? "", "https://tenant");
      limits.push(searchParams.get("limit"));
      const from = Number(searchParams.get("continue") ?? 0);
      const to = from + Number(searchParams.get("limit"));
      // The first two are too large together.
      const items = names.slice(from, to).map((name, index) => ({
        metadata: { name },
        note: from + index < 2 ? "x".repeat(3_000_000) : "",
      }));
      json(pageOf(items, to < names.length ? { continue: `${to}` } : {}))(request, response);
    });
    const kind = { kind: serviceAccountKind, schema: z.object({ metadata: z.object({ name: z.string() }) }) };
    const read = await connect(url, (client) => listAllPages(client, kind));
    expect(read.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(limits).toEqual(["250", "50", "10", ...names.map(() => "1")]);
  });

  test("that claims each binding to exist already gets two attempts to create it", async () => {
    const methods: unknown[] = [];
    const status = { kind: "Status", reason: "AlreadyExists", code: 409, message: "exists" };
    const url = await serve((request, response) => {
      methods.push(request.method);
      const isCreation = request.method === "POST";
      json(isCreation ? status : {}, isCreation ? 409 : request.method === "GET" ? 404 : 200)(
        request,
        response,
      );
    });
    const binding: TenantBinding = composeAccessBinding("a", "ca");
    await expect(connect(url, (client) => ensureBinding(client, binding))).rejects.toMatchObject({
      status: 409,
    });
    expect(methods).toEqual(["GET", "POST", "DELETE", "POST"]);
  });
});

describe("a probe", () => {
  const probe = (url: string, deadlineMs = 60_000) =>
    probeEndpoint({ url, ca: authority.certificate }, deadlineMs);

  test("needs the status only: a body without end is not read", async () => {
    let written = 0;
    const closed = Promise.withResolvers<void>();
    const url = await serve((_request, response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(200);
      const timer = setInterval(() => response.write(MEGABYTE, () => (written += 1)), 10);
      response.on("close", () => clearInterval(timer));
    });
    expect(await probe(url)).toEqual({ ok: true, message: "" });
    await closed.promise;
    expect(written).toBeLessThan(20);
  });

  test("does not follow a redirect", async () => {
    let redirected = 0;
    const elsewhere = await serve((_request, response) => {
      redirected += 1;
      response.end();
    });
    const url = await serve((_request, response) => response.writeHead(302, { location: elsewhere }).end());
    expect(await probe(url)).toEqual({ ok: true, message: "" });
    expect(redirected).toBe(0);
  });

  test("of a stalled TLS handshake fails at its deadline", async () => {
    const url = await listen(createTcpServer(() => undefined));
    expect(await probe(url, 300)).toEqual({ ok: false, message: "no response within 0.3 s" });
  });
});
