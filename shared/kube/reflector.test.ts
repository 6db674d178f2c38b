import { afterEach, expect, test, vi } from "vitest";
import { createLogger } from "../program/log.ts";
import { PATIENT } from "../program/testing-deadlines.ts";
import { createClient } from "./client.ts";
import { defineKind, type KubeObject } from "./kind.ts";
import { type Change, createReflector, type ReflectorOptions } from "./reflector.ts";
import { createStore } from "./store.ts";
import { json, type Responder, startTestServer, status, toStatus, watchLines } from "./testing.ts";
import { createTransport } from "./transport.ts";

const thingKind = defineKind<KubeObject>({
  group: "things.test",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
});

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0)) await step();
});

const thing = (name: string, resourceVersion: string, extra: object = {}) => ({
  apiVersion: "things.test/v1",
  kind: "Thing",
  metadata: { namespace: "n", name, uid: `uid-${name}`, resourceVersion, ...extra },
});
const list = (resourceVersion: string, items: object[], next?: string) =>
  json(200, { metadata: { resourceVersion, continue: next }, items });
const silence = watchLines([], "stay");

/** Runs a reflector with these responders, in order; `delivered` lists the changes, as "added n/a 1". */
async function reflect(
  options: Partial<ReflectorOptions<KubeObject>>,
  ...responders: [Responder, ...Responder[]]
) {
  const server = await startTestServer(...responders);
  const transport = createTransport({ connection: { server: server.url }, timeoutMs: 30_000 });
  const stop = new AbortController();
  const store = createStore<KubeObject>();
  const delivered: string[] = [];
  const changes: Change<KubeObject>[] = [];
  const restarts: string[] = [];
  const reflector = createReflector({
    client: createClient(transport),
    kind: thingKind,
    store,
    onChange: (change) => {
      changes.push(change);
      delivered.push(
        `${change.type} ${change.object.metadata.name} ${change.object.metadata.resourceVersion}`,
      );
    },
    log: createLogger({ name: "test", level: "silent" }),
    metrics: { onRestart: (_kind, reason) => restarts.push(reason), onSize: () => undefined },
    ...options,
    timing: { backoffBaseMs: 1, backoffCapMs: 5, ...options.timing },
  });
  reflector.start(stop.signal);
  cleanUp.push(
    () => stop.abort(),
    () => transport.close(),
    () => server.close(),
  );
  return { server, store, reflector, delivered, changes, restarts, stop };
}

test("the first list is paged, stored and marked as initial", async () => {
  const { server, store, reflector, changes } = await reflect(
    {},
    list("10", [thing("a", "1")], "more"),
    list("10", [thing("b", "2")]),
    silence,
  );
  await reflector.synced;
  expect(store.keys()).toEqual(["n/a", "n/b"]);
  expect(changes.map(({ type, initial }) => [type, initial])).toEqual([
    ["added", true],
    ["added", true],
  ]);
  expect(server.received[0]?.query.toString()).toBe("limit=750");
  await vi.waitFor(() => expect(server.received).toHaveLength(3), PATIENT);
  const watch = server.received[2]?.query;
  expect(watch?.get("resourceVersion")).toBe("10");
  expect(Number(watch?.get("timeoutSeconds"))).toBeGreaterThanOrEqual(300);
  expect(Number(watch?.get("timeoutSeconds"))).toBeLessThanOrEqual(600);
});

test("changes of the watch reach the store before they are delivered", async () => {
  const shown: (string | undefined)[] = [];
  const store = createStore<KubeObject>();
  const { delivered } = await reflect(
    {
      store,
      onChange: ({ object }) => shown.push(store.get("n/a")?.metadata.resourceVersion ?? object.kind),
    },
    list("1", [thing("a", "1")]),
    watchLines(
      [
        { type: "MODIFIED", object: thing("a", "2") },
        { type: "DELETED", object: thing("a", "3") },
      ],
      "stay",
    ),
  );
  await vi.waitFor(() => expect(shown).toEqual(["1", "2", "Thing"]), PATIENT);
  expect(delivered).toEqual([]);
  expect(store.hasSeen("3")).toBe(true);
});

test("a failed first list is retried until it succeeds", async () => {
  const { reflector, delivered } = await reflect(
    {},
    status(500, "InternalError"),
    status(403, "Forbidden"),
    (response) => response.destroy(),
    list("1", [thing("a", "1")]),
    silence,
  );
  await reflector.synced;
  expect(delivered).toEqual(["added a 1"]);
  expect(reflector.healthy()).toBe(true);
});

test.each<{ what: string; gone: Responder }>([
  { what: "a 410 response", gone: status(410, "Expired") },
  {
    what: "an ERROR event of 410",
    gone: watchLines([{ type: "ERROR", object: toStatus(410, "Expired") }], "stay"),
  },
])("$what leads to a relist whose differences are delivered", async ({ gone }) => {
  const epochs: number[] = [];
  const { delivered, restarts, changes } = await reflect(
    { onRelist: (epoch) => epochs.push(epoch) },
    list("10", [thing("same", "1"), thing("changed", "2"), thing("missing", "3"), thing("again", "4")]),
    gone,
    list("20", [
      thing("same", "1"),
      thing("changed", "12"),
      thing("again", "14", { uid: "other" }),
      thing("new", "15"),
    ]),
    silence,
  );
  await vi.waitFor(() => expect(epochs).toEqual([1, 2]), PATIENT);
  expect(delivered.slice(4)).toEqual([
    "updated changed 12",
    "deleted again 4",
    "added again 14",
    "added new 15",
    "deleted missing 3",
  ]);
  expect(changes.slice(4).every(({ initial }) => !initial)).toBe(true);
  expect(restarts).toEqual(["gone"]);
});

test("a dropped watch continues from the last event or bookmark, without a relist", async () => {
  const { server, delivered } = await reflect(
    {},
    list("1", []),
    watchLines([{ type: "ADDED", object: thing("a", "5") }], "break"),
    watchLines([{ type: "BOOKMARK", object: { metadata: { resourceVersion: "42" } } }], "end"),
    silence,
  );
  await vi.waitFor(() => expect(server.received).toHaveLength(4), PATIENT);
  expect(server.received.map(({ query }) => query.get("resourceVersion"))).toEqual([null, "1", "5", "42"]);
  expect(delivered).toEqual(["added a 5"]);
});

test("a silent watch is restarted after its idle time", async () => {
  const { server, restarts } = await reflect({ timing: { idleTimeoutMs: 30 } }, list("1", []), silence);
  await vi.waitFor(() => expect(server.received.length).toBeGreaterThan(2), PATIENT);
  expect(restarts[0]).toBe("idle");
});

test("a watch rejected with Retry-After waits that long", async () => {
  const at: number[] = [];
  const timed =
    (respond: Responder): Responder =>
    (response, request) => {
      at.push(performance.now());
      respond(response, request);
    };
  const busy = timed(json(429, {}, { "retry-after": "0.2" }));
  await reflect({}, list("1", []), busy, timed(silence));
  await vi.waitFor(() => expect(at).toHaveLength(2), PATIENT);
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(195);
});

test("an object recreated under its name is deleted and added", async () => {
  const { delivered } = await reflect(
    {},
    list("1", [thing("a", "1")]),
    watchLines([{ type: "MODIFIED", object: thing("a", "9", { uid: "other" }) }], "stay"),
  );
  await vi.waitFor(() => expect(delivered).toEqual(["added a 1", "deleted a 1", "added a 9"]), PATIENT);
});

test("managedFields are dropped unless requested, and objects are frozen", async () => {
  const managed = { managedFields: [{ manager: "x", operation: "Apply" }] };
  for (const keepManagedFields of [false, true]) {
    const { store, reflector } = await reflect(
      { keepManagedFields },
      list("1", [thing("a", "1", managed)]),
      silence,
    );
    await reflector.synced;
    const kept = store.get("n/a");
    expect(kept?.metadata.managedFields !== undefined).toBe(keepManagedFields);
    expect(Object.isFrozen(kept?.metadata)).toBe(true);
  }
});

test("a handler that throws does not stop the reflector", async () => {
  const seen: string[] = [];
  await reflect(
    {
      onChange: ({ object }) => {
        seen.push(object.metadata.name);
        throw new Error("broken handler");
      },
    },
    list("1", [thing("a", "1"), thing("b", "1")]),
    silence,
  );
  await vi.waitFor(() => expect(seen).toEqual(["a", "b"]), PATIENT);
});

test("a stopped reflector delivers nothing, not even a response in flight", async () => {
  let release: (() => void) | undefined;
  const { server, stop, delivered, store } = await reflect({}, (response, request) => {
    release = () => list("1", [thing("a", "1")])(response, request);
  });
  await vi.waitFor(() => expect(server.received).toHaveLength(1), PATIENT);
  stop.abort();
  release?.();
  await new Promise(setImmediate);
  expect(delivered).toEqual([]);
  expect(store.size).toBe(0);
});

test("a reflector can be started again after it was stopped, but not twice", async () => {
  const { reflector, stop } = await reflect({}, list("1", []), silence, list("2", []), silence);
  await reflector.synced;
  expect(() => reflector.start(new AbortController().signal)).toThrow("already running");
  stop.abort();
  const again = new AbortController();
  reflector.start(again.signal);
  again.abort();
});

test("staleness counts only while no watch is open", async () => {
  const { reflector, server } = await reflect({}, list("1", []), silence);
  await reflector.synced;
  await vi.waitFor(() => expect(reflector.staleMs()).toBe(0), PATIENT);
  expect(server.received).toHaveLength(2);
});

test("a stale list is retried, so that nothing is reverted; one that persists is accepted", async () => {
  const gone = status(410, "Expired");
  const old = list("10", [thing("a", "4")]);
  const past = [old, old, old, old, old, old] as const;
  const { delivered, store } = await reflect(
    {},
    list("20", [thing("a", "15")]),
    gone,
    old,
    list("21", [thing("a", "21")]),
    gone,
    ...past,
    old,
    silence,
  );
  await vi.waitFor(() => expect(delivered).toEqual(["added a 15", "updated a 21", "updated a 4"]), PATIENT);
  expect(store.hasSeen("11")).toBe(false);
});

test("an object that the transform drops is removed from the store", async () => {
  const marked = { labels: { drop: "yes" } };
  const { store, delivered } = await reflect(
    { transform: (object) => (object.metadata.labels?.drop === undefined ? object : undefined) },
    list("10", [thing("a", "1"), thing("b", "2", marked)]),
    watchLines([{ type: "MODIFIED", object: thing("a", "11", marked) }], "stay"),
  );
  await vi.waitFor(() => expect(delivered).toEqual(["added a 1", "deleted a 1"]), PATIENT);
  expect(store.size).toBe(0);
});
