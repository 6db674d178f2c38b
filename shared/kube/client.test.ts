import { afterEach, describe, expect, test } from "vitest";
import { type ClientOptions, createClient, type KubeClient } from "./client.ts";
import { defineKind, type KubeObject, metadataOnly } from "./kind.ts";
import { json, type Responder, startTestServer, status, watchLines } from "./testing.ts";
import { createTransport } from "./transport.ts";

interface Thing extends KubeObject {
  spec: { size: number; note?: string };
}
const thingKind = defineKind<Thing>({
  group: "things.test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
});
const path = "/apis/things.test/v1/namespaces/n/things";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function connect(...responders: [Responder, ...Responder[]]) {
  return connectWith({}, ...responders);
}

async function connectWith(options: ClientOptions, ...responders: [Responder, ...Responder[]]) {
  const server = await startTestServer(...responders);
  const transport = createTransport({ connection: { server: server.url } });
  open.push(
    () => transport.close(),
    () => server.close(),
  );
  return { server, client: createClient(transport, options) };
}

const write = { fieldManager: "me" };
const identity = { apiVersion: "things.test/v1", kind: "Thing" };

test.each<{
  what: string;
  call: (client: KubeClient) => Promise<unknown>;
  sent: { method: string; path: string; query: string; type: string; body: unknown };
}>([
  {
    what: "create",
    call: (client) =>
      client.create(thingKind, { metadata: { namespace: "n", name: "a" } }, { ...write, dryRun: true }),
    sent: {
      method: "POST",
      path,
      query: "fieldManager=me&fieldValidation=Ignore&dryRun=All",
      type: "application/json",
      body: { ...identity, metadata: { namespace: "n", name: "a" } },
    },
  },
  {
    what: "apply of a status",
    call: (client) =>
      client.apply(
        thingKind,
        { metadata: { namespace: "n", name: "a" } },
        { ...write, force: true, subresource: "status" },
      ),
    sent: {
      method: "PATCH",
      path: `${path}/a/status`,
      query: "fieldManager=me&fieldValidation=Ignore&force=true",
      type: "application/apply-patch+yaml",
      body: { ...identity, metadata: { namespace: "n", name: "a" } },
    },
  },
  {
    what: "mergePatch",
    call: (client) => client.mergePatch(thingKind, "n", "a", { spec: { size: 2 } }, write),
    sent: {
      method: "PATCH",
      path: `${path}/a`,
      query: "fieldManager=me&fieldValidation=Ignore",
      type: "application/merge-patch+json",
      body: { spec: { size: 2 } },
    },
  },
  {
    what: "mergePatch that the server ends in time",
    call: (client) => client.mergePatch(thingKind, "n", "a", {}, { ...write, serverTimeoutMs: 2_000 }),
    sent: {
      method: "PATCH",
      path: `${path}/a`,
      query: "fieldManager=me&fieldValidation=Ignore&timeout=2000ms",
      type: "application/merge-patch+json",
      body: {},
    },
  },
  {
    what: "create that the server ends in time",
    call: (client) =>
      client.create(
        thingKind,
        { metadata: { namespace: "n", name: "a" } },
        { ...write, serverTimeoutMs: 2_000 },
      ),
    sent: {
      method: "POST",
      path,
      query: "fieldManager=me&fieldValidation=Ignore&timeout=2000ms",
      type: "application/json",
      body: { ...identity, metadata: { namespace: "n", name: "a" } },
    },
  },
  {
    what: "delete that the server ends in time",
    call: (client) => client.delete(thingKind, "n", "a", { uid: "u", serverTimeoutMs: 2_000 }),
    sent: {
      method: "DELETE",
      path: `${path}/a`,
      query: "timeout=2000ms",
      type: "application/json",
      body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: "u" } },
    },
  },
  {
    what: "jsonPatch",
    call: (client) => client.jsonPatch(thingKind, "n", "a", [{ op: "remove", path: "/spec/note" }], write),
    sent: {
      method: "PATCH",
      path: `${path}/a`,
      query: "fieldManager=me&fieldValidation=Ignore",
      type: "application/json-patch+json",
      body: [{ op: "remove", path: "/spec/note" }],
    },
  },
  {
    what: "delete",
    call: (client) => client.delete(thingKind, "n", "a", { uid: "u", propagationPolicy: "Foreground" }),
    sent: {
      method: "DELETE",
      path: `${path}/a`,
      query: "",
      type: "application/json",
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        propagationPolicy: "Foreground",
        preconditions: { uid: "u" },
      },
    },
  },
])("$what sends the request of the API", async ({ call, sent }) => {
  const { server, client } = await connect(json(200, {}));
  await call(client);
  const [request] = server.received;
  expect({
    method: request?.method,
    path: request?.path,
    query: request?.query.toString(),
    type: request?.headers["content-type"],
    body: request?.body,
  }).toEqual(sent);
});

test("a missing object is undefined, and its deletion succeeds", async () => {
  const { client } = await connect(status(404, "NotFound", "no", { name: "a", kind: "things" }));
  expect(await client.get(thingKind, "n", "a")).toBeUndefined();
  await client.delete(thingKind, "n", "a");
});

test("a kind that the server does not serve is an error, not a missing object", async () => {
  const { client } = await connect((response) => response.writeHead(404).end("404 page not found\n"));
  await expect(client.get(thingKind, "n", "a")).rejects.toMatchObject({ isNotFound: true });
});

test("an error response is a KubeError", async () => {
  const { client } = await connect(status(409, "AlreadyExists", 'things "a" already exists'));
  const object = { metadata: { namespace: "n", name: "a" } };
  await expect(client.create(thingKind, object, write)).rejects.toMatchObject({ isAlreadyExists: true });
});

test("listAll reads all pages and sets the kind of each item", async () => {
  const page = (name: string, next: string): Responder =>
    json(200, { metadata: { resourceVersion: "7", continue: next }, items: [{ metadata: { name } }] });
  const { server, client } = await connect(page("a", "more"), page("b", ""));
  expect(await client.listAll(thingKind, { labelSelector: "x=y" })).toEqual([
    { ...identity, metadata: { name: "a" } },
    { ...identity, metadata: { name: "b" } },
  ]);
  expect(server.received.map(({ query }) => query.toString())).toEqual([
    "labelSelector=x%3Dy&limit=750",
    "labelSelector=x%3Dy&limit=750&continue=more",
  ]);
});

test("a watch yields events and bookmarks, and throws on an ERROR event", async () => {
  const object = { metadata: { name: "a", resourceVersion: "5" } };
  const { server, client } = await connect(
    watchLines(
      [
        { type: "ADDED", object },
        { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } },
        { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } },
      ],
      "stay",
    ),
  );
  const seen: unknown[] = [];
  const watch = client.watch(thingKind, {
    namespace: "n",
    resourceVersion: "4",
    timeoutSeconds: 300,
    signal: new AbortController().signal,
  });
  const read = async () => {
    for await (const event of watch) seen.push(event);
  };
  await expect(read()).rejects.toMatchObject({ isGone: true });
  expect(seen).toEqual([
    { type: "ADDED", object: { ...identity, ...object } },
    { type: "BOOKMARK", resourceVersion: "9" },
  ]);
  expect(server.received[0]?.query.toString()).toBe(
    "watch=true&allowWatchBookmarks=true&resourceVersion=4&timeoutSeconds=300",
  );
});

describe("a kind read as metadata only", () => {
  const metadata = { name: "a", namespace: "n", resourceVersion: "5" };
  const partial = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata };
  const read = { ...identity, metadata };
  const bare = metadataOnly(thingKind);
  const one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
  const many = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
  const watchOptions = {
    resourceVersion: "4",
    timeoutSeconds: 300,
    signal: new AbortController().signal,
  };

  test.each([
    { what: "is PartialObjectMetadata", sent: partial },
    { what: "is the whole object", sent: { ...read, spec: { size: 1 } } },
  ])("returns metadata when the response $what", async ({ sent }) => {
    const { server, client } = await connect(
      json(200, { metadata: { resourceVersion: "9" }, items: [sent] }),
      watchLines([{ type: "MODIFIED", object: sent }], "end"),
      json(200, sent),
    );
    expect((await client.list(bare)).items).toEqual([read]);
    for await (const event of client.watch(bare, watchOptions)) {
      expect(event).toEqual({ type: "MODIFIED", object: read });
    }
    expect(await client.get(bare, "n", "a")).toEqual(read);
    expect(server.received.map(({ headers }) => headers.accept)).toEqual([many, one, one]);
  });

  test("uses the same requests as the whole kind", async () => {
    const { server, client } = await connect(json(200, { metadata: {}, items: [] }));
    await client.list(bare, { labelSelector: "x=y" });
    await client.list(thingKind, { labelSelector: "x=y" });
    const [left, right] = server.received;
    expect([left?.path, left?.query]).toEqual([right?.path, right?.query]);
    expect(right?.headers.accept).toBe("application/json");
  });
});

test("names are URL-encoded in the path", async () => {
  const { server, client } = await connect(json(200, {}));
  await client.get(thingKind, "n", "a/b");
  expect(server.received[0]?.path).toBe(`${path}/a%2Fb`);
});

test("a client that may no longer write sends no write, not even a retry, and still reads", async () => {
  let allowed = true;
  const busy: Responder = (response, request) => {
    allowed = false;
    status(429, "TooManyRequests")(response, request);
  };
  const { server, client } = await connectWith({ mayWrite: () => allowed }, busy, json(200, identity));
  const refusal = { status: 0, reason: "NotAllowed" };
  await expect(
    client.apply(thingKind, { metadata: { name: "a", namespace: "n" } }, write),
  ).rejects.toMatchObject(refusal);
  await expect(client.delete(thingKind, "n", "a")).rejects.toMatchObject(refusal);
  await client.get(thingKind, "n", "a");
  expect(server.received.map(({ method }) => method)).toEqual(["PATCH", "GET"]);
});
