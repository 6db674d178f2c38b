import type { ReconcileResult } from "../../shared/controller/controller.ts";
import { applyPlan, type Plan, type Step, StepError } from "../../shared/controller/plan.ts";
import type { StatusThrottle } from "../../shared/controller/status-throttle.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import {
  type Cluster,
  type ClusterStatus,
  clusterConditionTypes,
  clusterKind,
} from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { isEnforced } from "../../shared/crd/upgrade-checks.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { secretKind } from "../../shared/kube/core-kinds.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { type KubeObject, metadataOnly } from "../../shared/kube/kind.ts";
import { splitKey } from "../../shared/kube/object.ts";
import type { Logger } from "../../shared/program/log.ts";
import { earliest } from "../../shared/program/time.ts";
import type { AddOnObstacles } from "../add-ons/observe.ts";
import { CACHE_LAG_MS, type Caches, type RunContext } from "../caches.ts";
import type { InfrastructureReader } from "../capi/infrastructure.ts";
import { capiClusterKind, capiClusterNameOf } from "../capi/kinds.ts";
import { nameCaSecret } from "../capi/secrets.ts";
import { findDesiredCapiCluster, mayStillBeApplied, type TopologyWrites } from "../capi/topology.ts";
import { isFinalized } from "../identity/identity.ts";
import { decideOwnership, findCapi } from "../identity/ownership.ts";
import type { AccessHealth, FindingsStore } from "../tenant/tenant-findings.ts";
import { reportWithoutCluster } from "./events.ts";
import { beginsLoss } from "./loss.ts";
import { isNameTakenAmong, withNameLock } from "./namesakes.ts";
import { needsInfrastructureObject } from "./networks.ts";
import { type ApplyFailure, type ClusterSettings, type ObservedCluster, observeCluster } from "./observe.ts";
import type { ProbeResult, Prober } from "./probe.ts";
import { findUpgradeStep, reconcileCluster } from "./reconcile.ts";
import { addRejected, isOfSpecification, type Rejections } from "./rejections.ts";
import { ownClusterStatus } from "./status.ts";
import type { KnownChecks, UpgradeChecker } from "./upgrade-checks.ts";
import { findTargetToCheck } from "./upgrade-gate.ts";
import { listPoolsToSend, needsUniqueName } from "./waits.ts";

export interface ClusterDeps {
  client: Pick<KubeClient, "get" | "listAll">;
  caches: Caches;
  settings: ClusterSettings;
  prober: Prober;
  accessHealth: Pick<AccessHealth, "find" | "forget">;
  tenantFindings: Pick<FindingsStore, "find" | "forget">;
  addOnObstacles: Pick<AddOnObstacles, "find">;
  infrastructure: InfrastructureReader;
  throttle: StatusThrottle;
  rejections: Rejections;
  topologyWrites: TopologyWrites;
  upgradeChecker: Pick<UpgradeChecker, "track" | "forget">;
  now(): Date;
  log: Pick<Logger, "info" | "warn">;
}

/**
 * Reconciles one cluster: observe, decide, apply. Cluster API gets one object, and rejects all of it for one bad field. So the
 * rejected part is kept as Cluster API has it, and the cluster is decided and applied again without it; the part is sent again
 * later. The status alone is written after a rejection when no further part can be left out, and while Cluster API is unavailable,
 * whose error is thrown after that for a retry with backoff. Every other error, and each of a plan that also changes metadata, is
 * thrown at once, without a status.
 */
export async function runCluster(
  deps: ClusterDeps,
  key: string,
  context: RunContext,
): Promise<ReconcileResult> {
  const now = deps.now();
  const processState = {
    probe: observeEndpoint(deps, key),
    accessAttempts: deps.accessHealth.find(key),
    tenantFindings: deps.tenantFindings.find(key),
    addOnObstacles: deps.addOnObstacles.find(splitKey(key).namespace ?? ""),
  };
  const observed = observeCluster(deps.caches, deps.settings, processState, key, now);
  if (observed === undefined || isFinalized(observed.cluster)) {
    deps.accessHealth.forget(key);
    deps.rejections.forget(key);
    deps.tenantFindings.forget(key);
    deps.upgradeChecker.forget(key);
    const { events, requeueAfterMs } = reportWithoutCluster(findCapi(deps.caches, key).capi?.object, now);
    for (const event of events) context.recorder.record(event);
    return { requeueAfterMs };
  }
  const end = deps.topologyWrites.begin(key, listPoolsToSend(observed));
  return runObserved(deps, key, observed, now, context).finally(end);
}

async function runObserved(
  deps: ClusterDeps,
  key: string,
  observed: ObservedCluster,
  now: Date,
  context: RunContext,
): Promise<ReconcileResult> {
  const infrastructure = needsInfrastructureObject(observed)
    ? await deps.infrastructure.read(observed.capi?.object, context.signal)
    : undefined;
  const { checks: upgradeChecks, requeueAfterMs: checksRetryMs } = observeUpgrade(deps, key, observed);
  const known = deps.rejections.find(key, observed);
  let current: ObservedCluster = {
    ...observed,
    infrastructure,
    upgradeChecks,
    rejected: known.rejected,
    upgradeRejection: known.rejected.get("version"),
  };
  let outcome = await tryApply(deps, key, current, context, now);
  // This ends: each round keeps one more of finitely many parts as Cluster API has it, or sets one of three fields, each at most once.
  while (outcome.kind === "decideAgain") {
    current = { ...current, ...outcome.change };
    outcome = await tryApply(deps, key, current, context, now);
  }
  if (outcome.kind === "retryLater") return { requeueAfterMs: outcome.afterMs };
  if (current.applyFailure?.kind === "unavailable") throw current.applyFailure.cause;
  // The cache does not show who has the name, and so not when it is free again.
  const nameRetryMs = current.nameTakenElsewhere && !observed.nameTakenElsewhere ? CACHE_LAG_MS : undefined;
  const retryMs = [known.retryMs, deps.rejections.find(key, observed).retryMs];
  return { requeueAfterMs: earliest([outcome.requeueAfterMs, ...retryMs, nameRetryMs, checksRetryMs]) };
}

/** What came of one decision. */
type Outcome =
  | { kind: "done"; requeueAfterMs: number | undefined }
  /** Another process is creating it, a cache lags behind, or an apply may still be made: nothing was written. */
  | { kind: "retryLater"; afterMs: number }
  /** What the next decision has to know. */
  | { kind: "decideAgain"; change: Findings };

/** What only an attempt shows. */
type Findings = Partial<
  Pick<ObservedCluster, "applyFailure" | "upgradeRejection" | "rejected" | "nameTakenElsewhere">
>;

const RETRY_LATER: Outcome = { kind: "retryLater", afterMs: CACHE_LAG_MS };

/** Decides and applies once. Throws errors that did not come from Cluster API, and what the status cannot report. */
async function tryApply(
  deps: ClusterDeps,
  key: string,
  observed: ObservedCluster,
  context: RunContext,
  now: Date,
): Promise<Outcome> {
  const { cluster } = observed;
  const decided = reconcileCluster(observed, now);
  const plan = deps.throttle.limit(key, decided.status && ownClusterStatus(cluster.status), decided);
  if (plan.releaseFinalizer) {
    const unknownOutcomeMs = deps.topologyWrites.findUnknownOutcomeMs(key);
    if (unknownOutcomeMs !== undefined) return { kind: "retryLater", afterMs: unknownOutcomeMs };
    if (await hasChild(deps, cluster, context.signal)) return RETRY_LATER;
  }
  if (beginsLoss(observed, plan) && !(await isCacheCurrent(deps, key, context.signal))) return RETRY_LATER;
  try {
    const outcome = await applyUnderUniqueName(deps, observed, plan, context);
    if (outcome.kind === "done") deps.throttle.noteApplied(key, plan);
    return outcome;
  } catch (error) {
    if (mayStillBeApplied(error)) deps.topologyWrites.noteUnknownOutcome(key, listPoolsToSend(observed));
    const failed = readFailure(error);
    // The status cannot be decided on an object whose metadata has just been written: the retry does it.
    if (failed === undefined || observed.applyFailure !== undefined || plan.metadata !== undefined)
      throw error;
    const change = findChange(observed, plan, failed);
    if (change.rejected !== undefined) deps.rejections.record(key, observed, change.rejected);
    if (failed.failure.kind === "rejected") {
      const level = isOfSpecification(failed.failure) ? "info" : "warn";
      deps.log[level]({ cluster: key, err: error }, "Cluster API rejected a change of a cluster");
    }
    return { kind: "decideAgain", change };
  }
}

/** What a failure changes for the next decision. */
function findChange(observed: ObservedCluster, plan: Plan<unknown>, { failure, step }: FailedStep): Findings {
  const sent = step.verb === "apply" ? findDesiredCapiCluster(plan) : undefined;
  if (failure.kind !== "rejected" || sent === undefined) return { applyFailure: failure };
  const isUpgrade = findUpgradeStep(observed, [step]) !== undefined;
  return addRejected(observed, { sent, isUpgrade }, failure) ?? { applyFailure: failure };
}

/**
 * Asks the Kubernetes API, for the caches may lag behind, as after a create without a response: a pool or Cluster API cluster that they
 * do not show would remain after its Cluster. A Cluster API cluster that is created later still is garbage collected with its owner.
 */
async function hasChild({ client }: ClusterDeps, cluster: Cluster, signal: AbortSignal): Promise<boolean> {
  const { namespace, name } = cluster.metadata;
  const [pools, capiCluster] = await Promise.all([
    client.listAll(nodePoolKind, { namespace, signal }),
    client.get(metadataOnly(capiClusterKind), namespace, name, { signal }),
  ]);
  return (
    pools.some((pool) => pool.spec.clusterName === name && !isFinalized(pool)) ||
    decideOwnership(cluster, capiCluster).capi !== undefined
  );
}

/**
 * Applies a plan, unless it would make a cluster whose name must be its own, and another Namespace's cluster has the name. That
 * is asked of the Kubernetes API under a lock: what was made elsewhere may not be in the caches yet. It is tried later while one of
 * its name is being made.
 */
async function applyUnderUniqueName(
  deps: ClusterDeps,
  observed: ObservedCluster,
  plan: Plan<ClusterStatus>,
  context: RunContext,
): Promise<Outcome> {
  const { cluster } = observed;
  const apply = async (): Promise<Outcome> => {
    await applyPlan({ ...context, kind: clusterKind, conditionTypes: clusterConditionTypes }, cluster, plan);
    return { kind: "done", requeueAfterMs: plan.requeueAfterMs };
  };
  const desired = findDesiredCapiCluster(plan);
  if (desired === undefined || !needsUniqueName(observed, desired)) return apply();
  const named = { fieldSelector: `metadata.name=${cluster.metadata.name}`, signal: context.signal };
  const outcome = await withNameLock(deps, cluster, context, async () => {
    const [clusters, capiClusters] = await Promise.all([
      deps.client.listAll(clusterKind, named),
      deps.client.listAll(metadataOnly(capiClusterKind), named),
    ]);
    const isTaken = isNameTakenAmong(cluster, clusters, capiClusters, deps.caches.subnetAllocations);
    const taken: Outcome = { kind: "decideAgain", change: { nameTakenElsewhere: true } };
    return isTaken ? taken : apply();
  });
  return outcome ?? RETRY_LATER;
}

/**
 * Asks the Kubernetes API for what shows a loss, the Cluster API cluster and its CA: after a change of the leader, or in a
 * restore, their caches may lag behind, and each by another time.
 */
async function isCacheCurrent(
  { client, caches }: ClusterDeps,
  key: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace, name } = splitKey(key);
  const [capiCluster, ca] = await Promise.all([
    client.get(metadataOnly(capiClusterKind), namespace, name, { signal }),
    client.get(metadataOnly(secretKind), namespace, nameCaSecret(name), { signal }),
  ]);
  const versionOf = (object: KubeObject | undefined) => object?.metadata.resourceVersion;
  // The cache holds Secrets with the label of Cluster API alone.
  const isCached = ca !== undefined && capiClusterNameOf(ca.metadata) !== undefined;
  return (
    versionOf(capiCluster) === versionOf(caches.capiClusters.get(key)) &&
    (isCached ? versionOf(ca) : undefined) === versionOf(caches.clusterSecrets.get(nameCaSecret(key)))
  );
}

/**
 * The last probe of a public endpoint, verified with the CA in our own kubeconfig, which is issued before the control plane
 * is up. Probing ends with the cluster.
 */
function observeEndpoint(deps: ClusterDeps, key: string): ProbeResult | undefined {
  const cluster = deps.caches.clusters.get(key);
  const state = findCapi(deps.caches, key).capi?.state;
  const ca = deps.caches.issuedCredentials.get(nameAdminSecret(key))?.data?.["ca.crt"];
  const isProbed = cluster?.spec.publicEndpoint === true && cluster.metadata.deletionTimestamp === undefined;
  if (!isProbed || !state?.controlPlaneInitialized || state.endpoint === undefined || ca === undefined) {
    deps.prober.forget(key);
    return undefined;
  }
  return deps.prober.track(key, { url: state.endpoint.url, ca });
}

/** The results of the checks of the requested upgrade, also of a suspended cluster: they are then known when it is resumed. */
function observeUpgrade(deps: ClusterDeps, key: string, observed: ObservedCluster): KnownChecks {
  const target = findTargetToCheck(observed);
  if (target === undefined) {
    deps.upgradeChecker.forget(key);
    return { checks: undefined, requeueAfterMs: undefined };
  }
  return deps.upgradeChecker.track(key, { target, isEnforced: isEnforced(observed.cluster.spec) });
}

interface FailedStep {
  step: Step;
  failure: ApplyFailure;
}

/** How a step on the Cluster API object failed; undefined for another failure, as a conflict, which a retry solves. */
function readFailure(error: unknown): FailedStep | undefined {
  if (!(error instanceof StepError) || error.step.kind !== capiClusterKind) return undefined;
  const { step, cause } = error;
  if (!(cause instanceof KubeError)) return undefined;
  const failure = { message: cause.kubeMessage, verb: step.verb, cause };
  if (cause.isUnavailable) return { step, failure: { kind: "unavailable", ...failure } };
  return cause.isInvalid || cause.status === 400 || cause.status === 403
    ? { step, failure: { kind: "rejected", ...failure } }
    : undefined;
}
