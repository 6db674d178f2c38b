import { FINALIZER, MANAGER_OPERATOR, MANAGER_OPERATOR_STATUS } from "../shared/crd/names.ts";
import type { KubeClient } from "../shared/kube/client.ts";
import type { Kind } from "../shared/kube/kind.ts";
import type { Logger } from "../shared/log.ts";
import { runAccess } from "./access/run.ts";
import { watchAccess } from "./access/watch.ts";
import type { CacheSet } from "./caches.ts";
import { createProber, probeEndpoint } from "./cluster/probe.ts";
import { runCluster } from "./cluster/run.ts";
import { watchClusters } from "./cluster/watch.ts";
import type { Config } from "./config.ts";
import { runEvent } from "./events/run.ts";
import { watchEvents } from "./events/watch.ts";
import { runPool } from "./node-pool/run.ts";
import { watchNodePools } from "./node-pool/watch.ts";
import {
  type Controller,
  type ControllerMetrics,
  type ControllerOptions,
  createController,
} from "./runtime/controller.ts";
import type { Recorder } from "./runtime/recorder.ts";
import { sweepLock } from "./subnets/sweep.ts";

export interface ControllersDeps {
  config: Config;
  client: KubeClient;
  set: CacheSet;
  recorder: Recorder;
  reportingController: string;
  isLeader(): boolean;
  metrics: ControllerMetrics;
  log: Logger;
}

export interface Controllers {
  /** Once all caches are synced. */
  start(): void;
  /** Ends the runs under way; false when the deadline came first. */
  drain(deadlineMs: number): Promise<boolean>;
  healthy(): boolean;
}

/** The table of contents: every controller, what it runs, and what wakes it. */
export function createControllers(deps: ControllersDeps): Controllers {
  const { config, client, set, recorder, log } = deps;
  const { caches } = set;
  const { settings } = config;
  const now = () => new Date();
  const make = (name: string, options: Pick<ControllerOptions, "reconcile" | "resyncKeys">) =>
    createController({
      name,
      ...options,
      workers: config.workersPerKind,
      isLeader: () => deps.isLeader(),
      log,
      metrics: deps.metrics,
    });

  const planContext = (controller: () => Controller) => (key: string, signal: AbortSignal) => ({
    client,
    recorder,
    finalizer: FINALIZER,
    fieldManager: MANAGER_OPERATOR,
    statusFieldManager: MANAGER_OPERATOR_STATUS,
    onWritten: (kind: Kind<unknown>, version: string) => expectWrite(set, controller(), key, kind, version),
    signal,
  });

  const prober = createProber({
    probe: probeEndpoint,
    onChange: (key) => clusters.add(key),
    random: Math.random,
  });
  const clusters: Controller = make("cluster", {
    reconcile: (key, signal) =>
      runCluster({ caches, settings, prober, now, planContext: planContext(() => clusters) }, key, signal),
    resyncKeys: () => caches.clusters.keys(),
  });
  const nodePools: Controller = make("node-pool", {
    reconcile: (key, signal) =>
      runPool({ caches, settings, now, planContext: planContext(() => nodePools) }, key, signal),
    resyncKeys: () => caches.nodePools.keys(),
  });
  const apiserver = { namespace: settings.platformNamespace, name: config.apiserverServiceAccount };
  const access: Controller = make("access", {
    reconcile: (key, signal) => {
      const onWritten = (kind: Kind<unknown>, version: string) =>
        expectWrite(set, access, key, kind, version);
      return runAccess({ client, caches, apiserver, now, onWritten }, key, signal);
    },
    resyncKeys: () => caches.clusters.keys(),
  });
  const events = make("event", {
    reconcile: (key) => runEvent({ caches, recorder, reportingController: deps.reportingController }, key),
  });
  const subnets = make("subnet", {
    reconcile: (key, signal) => sweepLock({ client, caches, now }, key, signal),
    resyncKeys: () => caches.subnetLocks.keys(),
  });

  watchClusters(set, clusters);
  watchNodePools(set, nodePools);
  watchAccess(set, access);
  watchEvents(set, events);

  const all = [clusters, nodePools, access, events, subnets];
  return {
    start: () => {
      for (const controller of all) controller.start();
    },
    async drain(deadlineMs) {
      prober.stop();
      const finished = await Promise.all(all.map((controller) => controller.drain(deadlineMs)));
      return finished.every(Boolean);
    },
    healthy: () => all.every((controller) => controller.healthy()),
  };
}

/** After a write the key rests until the cache shows it; what is not cached need not be waited for. */
function expectWrite(
  set: CacheSet,
  controller: Controller,
  key: string,
  kind: Kind<unknown>,
  resourceVersion: string,
): void {
  const cache = set.cacheOfWrites(kind);
  if (cache !== undefined) controller.expect(key, cache, resourceVersion);
}
