import { expect, test } from "vitest";
import { setUp } from "../../e2e/testing/set-up.ts";
import { UNRECORDED_CONFIG_MAP } from "../../shared/crd/names.ts";
import { readUnrecorded, type UnrecordedUse, writeUnrecorded } from "../../shared/crd/published-config.ts";
import { openTestApi } from "../../shared/crd/testing.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { configMapKind } from "../../shared/kube/core-kinds.ts";
import { createId } from "../../shared/program/id.ts";
import { createLogger } from "../../shared/program/log.ts";
import type { RunContext } from "../caches.ts";
import { publishUnrecorded, type UnrecordedDeps } from "./unrecorded.ts";

const MANAGER = { fieldManager: "marina-operator" };
const ENDED: UnrecordedUse = { kind: "machine", subject: createId(), goneAt: "2026-01-01T00:02:00Z" };
const RUNNING: UnrecordedUse = { kind: "machine", subject: ENDED.subject };

const api = setUp(openTestApi);

const read = async () =>
  readUnrecorded(await api.client.get(configMapKind, api.namespace, UNRECORDED_CONFIG_MAP));

function write(...uses: UnrecordedUse[]) {
  const metadata = { name: UNRECORDED_CONFIG_MAP, namespace: api.namespace };
  const map = { apiVersion: "v1", kind: "ConfigMap", metadata, data: writeUnrecorded(uses) };
  return api.client.apply(configMapKind, map, { ...MANAGER, force: true });
}

/** A run of an operator in whose caches an orphaned cluster runs and nothing else, at ten minutes past. */
function publish(client: Pick<KubeClient, "get">) {
  const none = { list: () => [], get: () => undefined };
  const metadata = { name: "shop", namespace: "org-1", labels: { "cloud.marina.dev/id": createId() } };
  const capiClusters = { ...none, list: () => [{ apiVersion: "v1", kind: "Cluster", metadata }] };
  const deps: UnrecordedDeps = {
    caches: { clusters: none, nodePools: none, capiClusters, machines: none, namespaces: none },
    client,
    platformNamespace: api.namespace,
    log: createLogger({ name: "test", level: "silent" }),
    now: () => new Date("2026-01-01T00:10:00Z"),
  };
  const context = { client: api.client, ...MANAGER, signal: new AbortController().signal };
  return publishUnrecorded(deps, context as unknown as RunContext);
}

test.each<{ what: string; before: UnrecordedUse[] }>([
  { what: "the first write", before: [] },
  { what: "a later write", before: [RUNNING] },
])(
  "$what of another operator after the read stays: the slower run ends with a conflict",
  async ({ before }) => {
    await api.client.delete(configMapKind, api.namespace, UNRECORDED_CONFIG_MAP);
    if (before.length > 0) await write(...before);
    const get: KubeClient["get"] = async (...args) => {
      const live = await api.client.get(...args);
      await write(ENDED);
      return live;
    };
    await expect(publish({ get })).rejects.toMatchObject({ isConflict: true });
    expect(await read()).toEqual([ENDED]);
  },
);

test("without another writer the ConfigMap is made, and written again", async () => {
  await api.client.delete(configMapKind, api.namespace, UNRECORDED_CONFIG_MAP);
  await publish(api.client);
  expect(await read()).toHaveLength(1);
  await publish(api.client);
  expect(await read()).toHaveLength(2);
});
