import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_ORG_ID, LABEL_PROVIDER_CREDENTIAL, MANAGER_OPERATOR } from "../../shared/crd/names.ts";
import { idleClusterSpec, openTestApi, type TestApi } from "../../shared/crd/testing.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import { objectKey } from "../../shared/kube/object.ts";
import type { Caches } from "../caches.ts";
import { makeRunContext } from "../cluster/testing-run.ts";
import { composeCopy, isCopy, trimToDigest } from "../copies/copy.ts";
import { settings } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { runProviderCredentials } from "./controller.ts";

const NAME = "cloud";
/** A plan names it before the other one. */
const FIRST = "blocked";
const TEST = { fieldManager: "test" };
const toBase64 = (text: string) => Buffer.from(text).toString("base64");

let platform: TestApi;
let api: TestApi;
let caches: Caches;
let cluster: Cluster;

beforeEach(async () => {
  [platform, api] = await Promise.all([openTestApi(), openTestApi()]);
  caches = createTestCaches(api.client, platform.namespace);
  const { namespace } = api;
  // An organization's in this cache alone: the operator of the stack leaves both alone.
  const metadata = { name: namespace, labels: { [LABEL_ORG_ID]: randomUUID() } };
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata });
  const created = { metadata: { namespace, name: "demo" }, spec: idleClusterSpec };
  cluster = await api.client.create(clusterKind, created, TEST);
  caches.clusters.set(cluster);
});
afterEach(() => Promise.all([platform.close(), api.close()]));

const read = (namespace: string, name = NAME) => api.client.get(secretKind, namespace, name);

/**
 * Runs it with what the caches would hold by now, and returns the Secret in the organization's Namespace. `meanwhile`
 * is what the caches do not show yet.
 */
async function run(meanwhile?: () => Promise<unknown>): Promise<Secret | undefined> {
  for (const [cache, namespace] of [
    [caches.providerCredentials, platform.namespace],
    [caches.providerCopies, api.namespace],
  ] as const) {
    for (const key of cache.keys()) cache.remove(key);
    for (const name of [FIRST, NAME]) {
      const found = await read(namespace, name);
      const isCached =
        namespace === platform.namespace || (found !== undefined && isCopy(found, LABEL_PROVIDER_CREDENTIAL));
      if (found !== undefined && isCached) cache.set(trimToDigest(found));
    }
  }
  await meanwhile?.();
  const plan = { class: "a", namespace: "a", controlPlaneReplicas: 1, credentials: [FIRST, NAME] };
  const servicePlans = { ...settings.servicePlans, default: plan };
  const context = makeRunContext(api.client, "example.com/none", MANAGER_OPERATOR);
  await runProviderCredentials(
    {
      client: api.client,
      caches,
      settings: { platformNamespace: platform.namespace, servicePlans },
    },
    api.namespace,
    context,
  );
  return read(api.namespace);
}

async function writeSource(data: Record<string, string>, name = NAME): Promise<void> {
  const metadata = { namespace: platform.namespace, name };
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

test("a Secret of the same name that is no copy stays as it is, is named, and does not stop the others", async () => {
  await writeSource({ value: toBase64("one") }, FIRST);
  await writeSource({ value: toBase64("one") });
  const own = { metadata: { namespace: api.namespace, name: FIRST }, data: { value: toBase64("tenant") } };
  await api.client.create(secretKind, own, TEST);
  const named = /blocked: there is one that is no copy/;
  await expect(run()).rejects.toThrow(named);
  expect((await read(api.namespace))?.data).toEqual({ value: toBase64("one") });
  await writeSource({ value: toBase64("two") });
  await expect(run()).rejects.toThrow(named);
  expect((await read(api.namespace))?.data).toEqual({ value: toBase64("two") });
  await api.client.delete(secretKind, platform.namespace, NAME);
  await expect(run()).rejects.toThrow(named);
  expect(await read(api.namespace)).toBeUndefined();
  expect((await read(api.namespace, FIRST))?.data).toEqual({ value: toBase64("tenant") });
});

const dropLabel = { metadata: { labels: { [LABEL_PROVIDER_CREDENTIAL]: null } } };

test.each<[string, RegExp, (copy: Secret) => Promise<unknown>]>([
  [
    "is no copy any more",
    /cloud: there is one that is no copy/,
    () => api.client.mergePatch(secretKind, api.namespace, NAME, dropLabel, TEST),
  ],
  [
    "has taken the place of a copy, which is looked at when the cache shows it,",
    /^$/,
    async (copy) => {
      await api.client.delete(secretKind, api.namespace, NAME);
      await api.client.create(
        secretKind,
        composeCopy(secretKind, copy, { namespace: api.namespace, label: LABEL_PROVIDER_CREDENTIAL }),
        TEST,
      );
    },
  ],
])("a Secret that %s since it was seen is not overwritten", async (_, said, change) => {
  await writeSource({ value: toBase64("one") });
  const copy = await run();
  await writeSource({ value: toBase64("two") });
  const outcome = run(() => change(copy ?? missing())).then(() => "", String);
  expect(await outcome).toMatch(said);
  expect((await read(api.namespace))?.data).toEqual({ value: toBase64("one") });
});

function missing(): never {
  throw new Error("there is no copy");
}
