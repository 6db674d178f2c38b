import { findCondition } from "../../shared/controller/conditions.ts";
import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, type Plan, type PlanContext, StepError } from "../../shared/controller/plan.ts";
import type { StatusThrottle } from "../../shared/controller/status-throttle.ts";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { nameAdminSecret } from "../access/admin-kubeconfig.ts";
import type { Caches } from "../caches.ts";
import { readEngineCluster } from "../engine/cluster-state.ts";
import { type EngineCluster, engineClusterKind } from "../engine/kinds.ts";
import { type ApplyFailure, type ClusterSettings, type ObservedCluster, observeCluster } from "./observe.ts";
import type { ProbeResult, Prober } from "./probe.ts";
import { reconcileCluster } from "./reconcile.ts";

export interface ClusterDeps {
  caches: Caches;
  settings: ClusterSettings;
  prober: Prober;
  pace: StatusThrottle;
  now(): Date;
}

/**
 * One round for one cluster: observe, decide, apply. What the engine answers to the plan goes into a second decision, so
 * that the status tells of it; a version that it refuses is held, so that the rest can pass. When it does not answer at
 * all the error is thrown on, for a retry with backoff.
 */
export async function runCluster(
  deps: ClusterDeps,
  key: string,
  planContext: Omit<PlanContext<never>, "kind">,
): Promise<ReconcileResult> {
  const now = deps.now();
  const observed = observeCluster(deps.caches, deps.settings, lookAtEndpoint(deps, key), key);
  if (observed === undefined) return undefined;
  const context = { ...planContext, kind: clusterKind };
  let facts = observed;
  for (;;) {
    const plan = deps.pace(key, observed.cluster.status, reconcileCluster(facts, now));
    try {
      await applyPlan(context, observed.cluster, plan);
      if (facts.applyFailure?.kind === "unavailable") throw facts.applyFailure.cause;
      return { requeueAfterMs: plan.requeueAfterMs };
    } catch (error) {
      const failure = readFailure(error);
      // After the object's own metadata was written the status has to be decided on what it is now: at the retry.
      if (failure === undefined || facts.applyFailure !== undefined || plan.metadata !== undefined) {
        throw causeOf(error);
      }
      facts =
        failure.kind === "refused" && facts.upgradeRefusal === undefined && isUpgrade(observed, plan)
          ? { ...facts, upgradeRefusal: failure.message }
          : { ...facts, applyFailure: failure };
    }
  }
}

/** Whether the plan asks the engine for another version than it has. */
function isUpgrade({ engine }: ObservedCluster, plan: Plan<unknown>): boolean {
  const wanted = plan.apply.find((step) => step.kind === engineClusterKind);
  if (engine === undefined || wanted?.verb !== "apply") return false;
  return (wanted.object as EngineCluster).spec?.topology?.version !== engine.object.spec?.topology?.version;
}

/**
 * The last word of a public endpoint that is up, verified with the CA that our own kubeconfig names: it is issued before a
 * control plane is up. The wish to hear it ends with the cluster.
 */
function lookAtEndpoint(deps: ClusterDeps, key: string): ProbeResult | undefined {
  const cluster = deps.caches.clusters.get(key);
  const engineCluster = deps.caches.engineClusters.get(key);
  const state = engineCluster && readEngineCluster(engineCluster);
  const ca = deps.caches.credentials.get(nameAdminSecret(key))?.data?.["ca.crt"];
  const wanted = cluster?.spec.publicEndpoint === true && cluster.metadata.deletionTimestamp === undefined;
  if (!wanted || !state?.controlPlaneInitialized || state.endpoint === undefined || ca === undefined) {
    deps.prober.forget(key);
    return undefined;
  }
  const answered = findCondition(cluster?.status?.conditions, "EndpointReachable")?.status === "True";
  return deps.prober.watch(key, { url: state.endpoint.url, ca }, answered);
}

/** The controller knows a KubeError's kinds, and says no more of a conflict than it is worth. */
function causeOf(error: unknown): unknown {
  return error instanceof StepError ? error.cause : error;
}

/** How the engine answered; undefined for a failure that is not its own. */
function readFailure(error: unknown): ApplyFailure | undefined {
  if (!(error instanceof StepError) || error.step.kind !== engineClusterKind) return undefined;
  const { cause } = error;
  if (!(cause instanceof KubeError)) return undefined;
  if (cause.isUnavailable) return { kind: "unavailable", message: cause.kubeMessage, cause };
  return cause.isInvalid || cause.status === 400 || cause.status === 403
    ? { kind: "refused", message: cause.kubeMessage, cause }
    : undefined;
}
