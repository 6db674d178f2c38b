import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readStack, waitFor } from "../../e2e/platform/stack/testing.ts";
import { createLogger } from "../program/log.ts";
import { createClient, type JsonPatchOperation, type KubeClient } from "./client.ts";
import { loadConnection } from "./connection.ts";
import { type ConfigMap, configMapKind, namespaceKind } from "./core-kinds.ts";
import { metadataOnly } from "./kind.ts";
import { createReflector } from "./reflector.ts";
import { createStore } from "./store.ts";
import { startTestProxy, type TestProxy } from "./testing-proxy.ts";
import { createTransport, type Transport } from "./transport.ts";

const namespace = `kube-test-${randomUUID()}`;
const log = createLogger({ name: "test", level: "silent" });
const me = { fieldManager: "me" };
let transport: Transport;
let client: KubeClient;

beforeAll(async () => {
  transport = createTransport({ connection: loadConnection(readStack().kubeconfig) });
  client = createClient(transport);
  await client.create(namespaceKind, { metadata: { name: namespace } }, me);
  // Kubernetes adds this one to each namespace: later it would be a change that no test has made.
  await waitFor("the certificates", () => client.get(configMapKind, namespace, "kube-root-ca.crt"));
});
afterAll(async () => {
  await client.delete(namespaceKind, undefined, namespace);
  await transport.close();
});

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0)) await step();
});

const map = (name: string, value: string) => ({ metadata: { namespace, name }, data: { value } });

test("an identical apply changes nothing, another manager's is a conflict unless forced", async () => {
  const first = await client.apply(configMapKind, map("a", "1"), me);
  const again = await client.apply(configMapKind, map("a", "1"), me);
  expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  const other = { fieldManager: "other" };
  await expect(client.apply(configMapKind, map("a", "2"), other)).rejects.toMatchObject({ isConflict: true });
  const forced = await client.apply(configMapKind, map("a", "2"), { ...other, force: true });
  expect(forced.data).toEqual({ value: "2" });
});

test("a dry run checks and stores nothing", async () => {
  await client.create(configMapKind, map("dry", "1"), { ...me, dryRun: true });
  expect(await client.get(configMapKind, namespace, "dry")).toBeUndefined();
  const misnamed = client.create(configMapKind, map("Bad_Name", "1"), { ...me, dryRun: true });
  await expect(misnamed).rejects.toMatchObject({ isInvalid: true });
  const { metadata } = await client.create(configMapKind, map("dry", "1"), me);
  await client.delete(configMapKind, namespace, "dry", { uid: metadata.uid, dryRun: true });
  expect((await client.get(configMapKind, namespace, "dry"))?.metadata.deletionTimestamp).toBeUndefined();
});

test("a patch of an older state and a deletion of another uid are conflicts", async () => {
  const { metadata } = await client.create(configMapKind, map("old", "1"), me);
  await client.mergePatch(configMapKind, namespace, "old", { data: { value: "2" } }, me);
  const stale = { metadata: { resourceVersion: metadata.resourceVersion }, data: { value: "3" } };
  await expect(client.mergePatch(configMapKind, namespace, "old", stale, me)).rejects.toMatchObject({
    isConflict: true,
  });
  await expect(
    client.delete(configMapKind, namespace, "old", { uid: "00000000-0000-0000-0000-000000000000" }),
  ).rejects.toMatchObject({ isConflict: true });
  await client.delete(configMapKind, namespace, "old", { uid: metadata.uid });
  await client.delete(configMapKind, namespace, "old");
  expect(await client.get(configMapKind, namespace, "old")).toBeUndefined();
});

test("a JSON patch that does not fit the object as it is now is a conflict, one that the API server refuses is invalid", async () => {
  await client.create(configMapKind, map("patched", "1"), me);
  const patch = (...operations: JsonPatchOperation[]) =>
    client.jsonPatch(configMapKind, namespace, "patched", operations, me);
  const conflict = { isConflict: true, isInvalid: false };
  await expect(patch({ op: "test", path: "/data/value", value: "0" })).rejects.toMatchObject(conflict);
  await expect(patch({ op: "remove", path: "/data/gone" })).rejects.toMatchObject(conflict);
  await expect(patch({ op: "remove", path: "/metadata/annotations/gone" })).rejects.toMatchObject(conflict);
  await expect(patch({ op: "add", path: "/data/no key", value: "1" })).rejects.toMatchObject({
    isConflict: false,
    isInvalid: true,
  });
});

test("a write into a namespace that is being deleted is known as such", async () => {
  const name = `kube-ending-${randomUUID()}`;
  await client.create(namespaceKind, { metadata: { name } }, me);
  const held = { metadata: { namespace: name, name: "held", finalizers: ["example.com/held"] } };
  await client.create(configMapKind, held, me);
  await client.delete(namespaceKind, undefined, name);
  const late = client.apply(configMapKind, { metadata: { namespace: name, name: "late" } }, me);
  await expect(late).rejects.toMatchObject({ isNamespaceTerminating: true, isUnavailable: false });
  await client.mergePatch(configMapKind, name, "held", { metadata: { finalizers: null } }, me);
});

test("a reflector shows a write once it has seen its resourceVersion", async () => {
  const { store } = await reflect(readStack().kubeconfig);
  const { metadata } = await client.apply(configMapKind, map("seen", "1"), me);
  await waitFor("the write in the store", () => store.hasSeen(metadata.resourceVersion ?? ""), {
    intervalMs: 5,
  });
  expect(store.get(`${namespace}/seen`)?.data).toEqual({ value: "1" });
});

test("a kind read as metadata only returns no content: by list, watch and get", async () => {
  const bare = metadataOnly(configMapKind);
  const labels = { bare: "yes" };
  const named = (name: string) => ({ metadata: { namespace, name, labels }, data: { value: "secret" } });
  const { metadata } = await client.apply(configMapKind, named("bare-1"), me);
  const selected = { namespace, labelSelector: "bare=yes" };
  const { items, resourceVersion } = await client.list(bare, selected);
  expect(items).toEqual([{ apiVersion: "v1", kind: "ConfigMap", metadata }]);
  expect(await client.get(bare, namespace, "bare-1")).toEqual(items[0]);
  await client.apply(configMapKind, named("bare-2"), me);
  const stop = new AbortController();
  cleanUp.push(() => stop.abort());
  const options = { ...selected, resourceVersion, timeoutSeconds: 30, signal: stop.signal };
  const { value: event } = await client.watch(bare, options)[Symbol.asyncIterator]().next();
  expect(event).toMatchObject({ type: "ADDED", object: { kind: "ConfigMap", metadata: { name: "bare-2" } } });
  expect(event).not.toHaveProperty("object.data");
});

test.each(["cut", "freeze"] as const)(
  "a reflector catches up with all changes after its connection was broken by %s",
  async (fault) => {
    for (const name of ["stays", "changes", "goes", "again"]) {
      await client.apply(configMapKind, map(name, "before"), { ...me, force: true });
    }
    const { store, proxy, changes } = await reflect(readStack().kubeconfig);
    proxy[fault]();
    changes.length = 0;
    await client.delete(configMapKind, namespace, "goes");
    await client.delete(configMapKind, namespace, "again");
    for (const name of ["changes", "again", "new"]) {
      await client.apply(configMapKind, map(name, fault), { ...me, force: true });
    }
    expect(changes).toEqual([]);
    proxy.restore();
    await waitFor("the store to catch up", () => store.get(`${namespace}/new`)?.data?.value === fault, {
      intervalMs: 20,
    });
    const versionsOf = (maps: ConfigMap[]) =>
      new Map(maps.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
    expect(versionsOf(store.list())).toEqual(versionsOf(await client.listAll(configMapKind, { namespace })));
    expect(changes).toContain("deleted goes");
    expect(changes).toContain("deleted again");
    expect(changes).toContain("added again");
    expect(changes).toContain("updated changes");
    expect(changes).not.toContain("updated stays");
  },
);

/** A synced reflector over the test's namespace behind a separate proxy. */
async function reflect(kubeconfig: string) {
  const connection = loadConnection(kubeconfig);
  const proxy: TestProxy = await startTestProxy(connection.server);
  const own = createTransport({ connection: { ...connection, server: proxy.url }, timeoutMs: 3_000 });
  const store = createStore<ConfigMap>();
  const changes: string[] = [];
  const stop = new AbortController();
  const reflector = createReflector({
    client: createClient(own),
    kind: configMapKind,
    namespace,
    store,
    onChange: ({ type, object }) => changes.push(`${type} ${object.metadata.name}`),
    log,
    timing: { backoffBaseMs: 20, backoffCapMs: 100 },
  });
  reflector.start(stop.signal);
  cleanUp.push(
    () => stop.abort(),
    () => own.close(),
    () => proxy.close(),
  );
  await reflector.synced;
  return { store, proxy, changes };
}
