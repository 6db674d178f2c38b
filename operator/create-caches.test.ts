import { expect, test } from "vitest";
import { LABEL_ADD_ON, OBJECT_ANNOTATIONS } from "../shared/crd/names.ts";
import type { ListOptions } from "../shared/kube/client.ts";
import { KubeError } from "../shared/kube/errors.ts";
import { createLogger } from "../shared/program/log.ts";
import { findUnusedCaches } from "./autoscaler/controller.ts";
import { createCaches } from "./create-caches.ts";
import { makePool, settings } from "./testing.ts";
import { aCluster } from "./testing-cluster.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const FORBIDDEN = ["serviceaccounts", "deployments"];

/** Starts the caches of an operator on these objects; they, and what it asks for until they are all synced. */
async function fill(objects: Readonly<Record<string, readonly object[]>>, autoscalerImage?: string) {
  const listed: (ListOptions & { plural: string })[] = [];
  const stop = new AbortController();
  const set = createCaches({
    client: {
      async list(kind, options) {
        listed.push({ plural: kind.plural, ...options });
        return { items: objects[kind.plural] ?? [], resourceVersion: "1", continueToken: undefined } as never;
      },
      watch: () => {
        throw new KubeError({ status: 0, reason: "Aborted", kubeMessage: "the test has no watch" });
      },
    },
    platformNamespace: settings.platformNamespace,
    unused: findUnusedCaches({ ...settings, autoscalerImage }),
    log: createLogger({ name: "test", level: "silent" }),
    metrics: { onRestart: () => undefined, onSize: () => undefined },
  });
  set.start(stop.signal);
  await set.synced;
  stop.abort();
  return { listed, caches: set.caches };
}

const listRequests = async (autoscalerImage: string | undefined) => (await fill({}, autoscalerImage)).listed;

async function listKinds(autoscalerImage: string | undefined): Promise<string[]> {
  const listed = await listRequests(autoscalerImage);
  return FORBIDDEN.filter((kind) => listed.some(({ plural }) => plural === kind));
}

test("an operator without an image of the autoscaler reads nothing that only autoscalers have, and starts", async () => {
  expect(await listKinds(undefined)).toEqual([]);
  expect(await listKinds("autoscaler")).toEqual(FORBIDDEN);
});

test("manifests of add-ons, of up to 1 MiB each, are read in pages that fit into the memory of an operator", async () => {
  const listed = await listRequests(undefined);
  const pages = listed.filter(({ labelSelector }) => labelSelector === LABEL_ADD_ON);
  expect(pages.map(({ plural, limit }) => [plural, limit])).toEqual([
    ["configmaps", 20],
    ["secrets", 20],
  ]);
});

test("of the annotations of Marina's kinds the caches hold Marina's alone, and say of a pool who sets its count", async () => {
  const own = Object.fromEntries(
    [...OBJECT_ANNOTATIONS, "replace.cloud.marina.dev/node-1"].map((name) => [name, "x"]),
  );
  const foreign = {
    "example.com/note": "x".repeat(256 * 1024),
    "cloud.marina.dev/other": "x",
    [LAST_APPLIED]: '{"spec":{"desiredNodes":1}}',
  };
  const metadata = { annotations: { ...own, ...foreign } };
  const pool = makePool("web", { desiredNodes: 1 }, { ...metadata, managedFields: [] });
  const { cluster } = aCluster().observed;
  const { caches } = await fill({
    clusters: [{ ...cluster, metadata: { ...cluster.metadata, ...metadata } }],
    nodepools: [pool],
  });
  const [cached] = caches.nodePools.list();
  expect(caches.clusters.list().map((one) => one.metadata.annotations)).toEqual([own]);
  expect(cached?.metadata.annotations).toEqual(own);
  expect(cached?.metadata.managedFields).toEqual([{ manager: LAST_APPLIED, operation: "Update" }]);
});
