import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ORG_ID, LABEL_PROVIDER_CREDENTIAL, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import { objectKey } from "../../shared/kube/object.ts";
import { createLogger } from "../../shared/program/log.ts";
import type { Caches, RunContext } from "../caches.ts";
import { createCaches } from "../create-caches.ts";
import { settings } from "../testing.ts";
import { trimToDigest } from "./copy.ts";
import { runProviderCredentials } from "./run.ts";

const NAME = "cloud";
const TEST = { fieldManager: "test" };
const toBase64 = (text: string) => Buffer.from(text).toString("base64");

let platform: TestApi;
let api: TestApi;
let caches: Caches;
let cluster: Cluster;

beforeEach(async () => {
  [platform, api] = await Promise.all([openTestApi(), openTestApi()]);
  caches = createCaches({
    client: api.client,
    platformNamespace: platform.namespace,
    log: createLogger({ name: "test", level: "silent" }),
    metrics: { onRestart: () => undefined, onSize: () => undefined },
  }).caches;
  const { namespace } = api;
  // Of no organization but in this cache: the operator of the stack leaves both alone.
  const metadata = { name: namespace, labels: { [LABEL_ORG_ID]: randomUUID() } };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata });
  const created = { metadata: { namespace, name: "demo" }, spec: idleClusterSpec };
  cluster = await api.client.create(clusterKind, created, TEST);
  caches.clusters.set(cluster);
});
afterEach(() => Promise.all([platform.close(), api.close()]));

const read = (namespace: string) => api.client.get(secretKind, namespace, NAME);

/** Runs it with what the caches would hold by now, and returns the Secret in the organization's Namespace. */
async function run(): Promise<Secret | undefined> {
  for (const [cache, namespace] of [
    [caches.providerCredentials, platform.namespace],
    [caches.providerCopies, api.namespace],
  ] as const) {
    const found = await read(namespace);
    for (const key of cache.keys()) cache.remove(key);
    const isCopy = found?.metadata.labels?.[LABEL_PROVIDER_CREDENTIAL] !== undefined;
    if (found !== undefined && (namespace === platform.namespace || isCopy)) cache.set(trimToDigest(found));
  }
  const plan = { class: "a", namespace: "a", controlPlaneReplicas: 1, credentials: [NAME] };
  const context: RunContext = {
    client: api.client,
    recorder: { record: () => undefined },
    finalizer: "example.com/none",
    fieldManager: MANAGER_OPERATOR,
    statusFieldManager: MANAGER_OPERATOR,
    onWritten: () => undefined,
    signal: new AbortController().signal,
  };
  await runProviderCredentials(
    {
      client: api.client,
      caches,
      settings: { platformNamespace: platform.namespace, plans: { ...settings.plans, default: plan } },
    },
    api.namespace,
    context,
  );
  return read(api.namespace);
}

async function writeSource(data: Record<string, string>): Promise<void> {
  const metadata = { namespace: platform.namespace, name: NAME };
  await api.client.apply(secretKind, { apiVersion: "v1", kind: "Secret", metadata, data }, TEST);
}

test("credentials are copied for the first cluster, kept equal whoever changes them, and go with the last one", async () => {
  expect(await run()).toBeUndefined();
  await writeSource({ "clouds.yaml": toBase64("one"), other: toBase64("more") });
  expect((await run())?.data).toEqual({ "clouds.yaml": toBase64("one"), other: toBase64("more") });
  await writeSource({ "clouds.yaml": toBase64("two") });
  expect((await run())?.data).toEqual({ "clouds.yaml": toBase64("two") });
  const changed = { data: { "clouds.yaml": toBase64("stolen"), more: toBase64("more") } };
  await api.client.mergePatch(secretKind, api.namespace, NAME, changed, TEST);
  expect((await run())?.data).toEqual({ "clouds.yaml": toBase64("two") });
  caches.clusters.remove(objectKey(cluster));
  expect(await run()).toBeUndefined();
});

test("credentials go when the platform removes them", async () => {
  await writeSource({ value: toBase64("one") });
  expect((await run())?.data).toEqual({ value: toBase64("one") });
  await api.client.delete(secretKind, platform.namespace, NAME);
  expect(await run()).toBeUndefined();
});

test("a Secret of the same name that is no copy stays as it is", async () => {
  await writeSource({ value: toBase64("one") });
  const own = { metadata: { namespace: api.namespace, name: NAME }, data: { value: toBase64("tenant") } };
  await api.client.create(secretKind, own, TEST);
  await expect(run()).rejects.toThrow(/apply secrets/);
  expect((await read(api.namespace))?.data).toEqual({ value: toBase64("tenant") });
});
