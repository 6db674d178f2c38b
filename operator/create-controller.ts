import {
  type Controller,
  type ControllerMetrics,
  createController,
  type ReconcileResult,
} from "../shared/controller/controller.ts";
import type { Leadership } from "../shared/controller/lease.ts";
import type { Recorder } from "../shared/controller/recorder.ts";
import { FINALIZER, MANAGER_OPERATOR, MANAGER_OPERATOR_STATUS } from "../shared/crd/names.ts";
import type { KubeClient } from "../shared/kube/client.ts";
import type { Logger } from "../shared/program/log.ts";
import type { CacheSet, RunContext } from "./caches.ts";
import type { Config } from "./config.ts";

/** What every controller works with. */
export interface ControllersDeps {
  config: Config;
  client: KubeClient;
  cacheSet: CacheSet;
  recorder: Recorder;
  reportingController: string;
  leadership: Leadership;
  metrics: ControllerMetrics;
  log: Logger;
}

type Run = (key: string, context: RunContext) => Promise<ReconcileResult>;

/**
 * Makes a controller with the operator's field managers, finalizer and workers. After a write its key is not reconciled until
 * the cache shows the write; writes of kinds that are not cached are not waited for.
 */
export function createOperatorController(
  deps: ControllersDeps,
  name: string,
  run: Run,
  resyncKeys?: () => Iterable<string>,
): Controller {
  return createWithWorkers(deps, { workers: deps.config.workersPerKind }, { name, run, resyncKeys });
}

/**
 * As createOperatorController, for what connects to tenants: it has many workers, few for each organization, so that a
 * tenant's API server that responds slowly delays its own organization only.
 */
export function createTenantController(
  deps: ControllersDeps,
  name: string,
  run: Run,
  resyncKeys?: () => Iterable<string>,
): Controller {
  const { tenantWorkers: workers, tenantWorkersPerNamespace: maxPerNamespace } = deps.config;
  return createWithWorkers(deps, { workers, maxPerNamespace }, { name, run, resyncKeys });
}

function createWithWorkers(
  deps: ControllersDeps,
  workers: { workers: number; maxPerNamespace?: number },
  { name, run, resyncKeys }: { name: string; run: Run; resyncKeys: (() => Iterable<string>) | undefined },
): Controller {
  const { client, recorder } = deps;
  const controller: Controller = createController({
    name,
    reconcile: (key, signal) =>
      run(key, {
        client,
        recorder,
        finalizer: FINALIZER,
        fieldManager: MANAGER_OPERATOR,
        statusFieldManager: MANAGER_OPERATOR_STATUS,
        onWritten(kind, resourceVersion) {
          const cache = deps.cacheSet.cacheOfWrites(kind);
          if (cache !== undefined) controller.expect(key, cache, resourceVersion);
        },
        signal,
      }),
    resyncKeys,
    resyncEveryMs: deps.config.resyncSeconds * 1000,
    ...workers,
    leadership: deps.leadership,
    log: deps.log,
    metrics: deps.metrics,
  });
  return controller;
}
