import { createStatusThrottle } from "../../shared/controller/status-throttle.ts";
import { FINALIZER, VERSION_CATALOGUE_CONFIG_MAP, VERSION_CATALOGUE_KEY } from "../../shared/crd/names.ts";
import { idleClusterSpec, type TestApi } from "../../shared/crd/testing.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import type { KubeError } from "../../shared/kube/errors.ts";
import { createLogger } from "../../shared/program/log.ts";
import type { Caches, RunContext } from "../caches.ts";
import { capiClusterKind } from "../capi/kinds.ts";
import { createTopologyWrites } from "../capi/topology.ts";
import { settings } from "../testing.ts";
import { createTestCaches } from "../testing-caches.ts";
import { createProber } from "./probe.ts";
import { createRejections } from "./rejections.ts";
import type { ClusterDeps } from "./run.ts";

/** What a run for one cluster needs, whose endpoint never answers. Only the test fills the caches. */
export function makeRunDeps(client: KubeClient, now: () => Date): ClusterDeps {
  return {
    client,
    caches: createTestCaches(client),
    settings,
    prober: createProber({
      probe: () => Promise.reject(new Error("there is no endpoint")),
      isKnownReachable: () => false,
      onChange: () => undefined,
      random: () => 0,
    }),
    accessHealth: { find: () => ({ kubeconfig: {}, bindings: {} }), forget: () => undefined },
    tenantFindings: { find: () => ({}), forget: () => undefined },
    addOnObstacles: { find: () => undefined },
    infrastructure: { read: () => Promise.resolve(undefined) },
    throttle: createStatusThrottle(),
    rejections: createRejections(),
    topologyWrites: createTopologyWrites(),
    upgradeChecker: {
      track: () => ({ checks: [], requeueAfterMs: undefined }),
      forget: () => undefined,
    },
    now,
    log: createLogger({ name: "test", level: "silent" }),
  };
}

/** Writes with this client under the name of this manager, and records no Event. */
export function makeRunContext(
  client: RunContext["client"],
  finalizer = FINALIZER,
  fieldManager = "test",
): RunContext {
  return {
    client,
    recorder: { record: () => undefined },
    finalizer,
    fieldManager,
    statusFieldManager: fieldManager,
    onWritten: () => undefined,
    signal: new AbortController().signal,
  };
}

/** Shows a Namespace with these labels, a class with this metadata, and the version of an idle cluster. */
export function showPlatform(
  caches: Caches,
  { name, labels }: { name: string; labels: Record<string, string> },
  clusterClass: { name: string; annotations?: Record<string, string> },
): void {
  const namespace = settings.platformNamespace;
  caches.namespaces.set({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  caches.clusterClasses.set({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "ClusterClass",
    metadata: { namespace, ...clusterClass },
    spec: { workers: { machineDeployments: [{ class: "default" }] } },
  });
  const catalogue = [{ version: idleClusterSpec.version, status: "supported" }];
  caches.catalogues.set({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: VERSION_CATALOGUE_CONFIG_MAP },
    data: { [VERSION_CATALOGUE_KEY]: JSON.stringify(catalogue) },
  });
}

/** Removes a cluster of Cluster API, which lets none go that is paused, or whose control plane is of a kind that it cannot read. */
export async function removeCapiCluster({ client, namespace }: TestApi, name: string): Promise<void> {
  await client.delete(capiClusterKind, namespace, name);
  const finalizers = { metadata: { finalizers: null } };
  await client
    .mergePatch(capiClusterKind, namespace, name, finalizers, { fieldManager: "test" })
    .catch((error: KubeError) => {
      if (!error.isNotFound) throw error;
    });
}
