import { isDeepStrictEqual } from "node:util";
import {
  appendTransitions,
  type ConditionLike,
  conditionAgeMs,
  findCondition,
  setConditions,
  withOwnConditions,
} from "../../shared/controller/conditions.ts";
import {
  type ClusterConditionType,
  type ClusterStatus,
  type ClusterTransition,
  clusterConditionTypes,
} from "../../shared/crd/cluster.ts";
import {
  EXPIRED,
  INFRASTRUCTURE_LOST,
  truncateStatusMessage,
  truncateUnapplied,
  type UnappliedPart,
} from "../../shared/crd/conditions.ts";
import { MAX_TRANSITIONS } from "../../shared/crd/fields.ts";
import { earliest, formatTime } from "../../shared/program/time.ts";
import { decideProtection, findExpiryHeld, findExpiryWaitMs } from "../expiry/expiry.ts";
import {
  clusterCondition,
  decideClusterConditions,
  type Facts,
  isDegraded,
  type MeasuredPool,
  summarizeClusterPhase,
} from "./conditions.ts";
import { checkHealth } from "./health.ts";
import { findReturnProblem } from "./loss.ts";
import { findInfrastructureReadMs, isProviderReportCurrent } from "./networks.ts";
import type { ClusterSettings, ObservedCluster } from "./observe.ts";
import { measurePools } from "./pools.ts";
import { decideSummary } from "./summary.ts";
import {
  composeForeignAdmins,
  decideAccess,
  decideAddOns,
  decideRegistered,
  findAccessReportMs,
} from "./tenant-conditions.ts";

type NewTransition = Omit<ClusterTransition, "sequence" | "at">;

type Conditions = readonly ConditionLike[];

/** What this reconcile decided, as far as the status reports it. */
export interface StatusInput extends Omit<Facts, "unapplied" | "rulesProblem" | "pools" | "running"> {
  /** The id, once it is accepted. */
  id: string | undefined;
  subnet: string | undefined;
  clusterClass: string | undefined;
  /** Parts that are not applied although everything else is. */
  unapplied: readonly UnappliedPart[];
  /** Network rules that alone wait. */
  unappliedRules: readonly UnappliedPart[];
}

/** The whole status of a cluster, and in how many ms it changes by the passing of time alone. */
export function composeClusterStatus(
  input: StatusInput,
  now: Date,
): { status: ClusterStatus; requeueAfterMs: number | undefined } {
  const { observed } = input;
  const { cluster, capi } = observed;
  const last = cluster.status;
  const pools = measurePools(input, now);
  const running = findRunningVersion(observed);
  const target = input.target ?? last?.targetVersion;
  const facts: Facts = {
    ...input,
    rulesProblem: input.unappliedRules[0],
    pools: pools.filter((pool) => !pool.deleting),
    target,
    running,
  };
  const { conditions, requeueAfterMs } = composeConditions(facts, now);
  const isReady = findCondition(conditions, "Ready")?.status === "True";
  const firstReadyAt = last?.firstReadyAt ?? (isReady ? formatTime(now) : undefined);
  const message = composeMessage(conditions, observed.settings, now);
  const happened = findTransitions(last, {
    conditions,
    ...optional("firstReadyAt", firstReadyAt),
    ...optional("version", running),
  });
  const status: ClusterStatus = {
    observedGeneration: cluster.metadata.generation ?? 0,
    ...optional("id", input.id ?? last?.id),
    conditions,
    phase: summarizeClusterPhase(conditions),
    ...composeAddresses(observed),
    ...optional("version", running),
    ...optional("targetVersion", target),
    ...optional("workerSubnet", input.subnet ?? last?.workerSubnet),
    ...optional("firstReadyAt", firstReadyAt),
    nodePools: countPools(observed, pools),
    nodes: countNodes(pools),
    transitions: appendTransitions(last?.transitions ?? [], happened, MAX_TRANSITIONS, now),
    ...optional("message", message && truncateStatusMessage(message)),
    ...optional("unapplied", truncateUnapplied([...input.unapplied, ...input.unappliedRules])),
    ...optional(
      "foreignAdmins",
      composeForeignAdmins(last?.foreignAdmins, observed.access.tenantFindings.foreignAdmins),
    ),
    ...optional(
      "credentialsGeneration",
      observed.access.tenantFindings.credentialsGeneration ?? last?.credentialsGeneration,
    ),
    ...optional("clusterClass", input.clusterClass ?? capi?.state.classRef?.name ?? last?.clusterClass),
  };
  return { status, requeueAfterMs };
}

/**
 * What the operator writes of a status. `usage` is no part of it, nor are the conditions of other controllers: they are
 * written by other field managers, and applying a status without them leaves them unchanged.
 */
export function ownClusterStatus(status: ClusterStatus | undefined): ClusterStatus | undefined {
  if (status === undefined) return undefined;
  const { usage: _, ...own } = status;
  return withOwnConditions(own, clusterConditionTypes);
}

/** The status to write; undefined when nothing changed. */
export function changedStatus(
  last: ClusterStatus | undefined,
  next: ClusterStatus,
): ClusterStatus | undefined {
  return isDeepStrictEqual(ownClusterStatus(last), next) ? undefined : next;
}

function composeConditions(
  facts: Facts,
  now: Date,
): { conditions: ConditionLike<ClusterConditionType>[]; requeueAfterMs: number | undefined } {
  const { cluster, settings } = facts.observed;
  const generation = cluster.metadata.generation ?? 0;
  const before = cluster.status?.conditions ?? [];
  const access = decideAccess(facts.observed, now) ?? [];
  const registered = (cluster.spec.registration && decideRegistered(facts.observed)) ?? [];
  const addOns = facts.observed.addOns.length === 0 ? [] : (decideAddOns(facts.observed) ?? []);
  const obstacle = facts.problem?.reason === EXPIRED ? undefined : findExpiryHeld("cluster", cluster, now);
  const expiry = obstacle ? [clusterCondition("ExpiryHeld", "True", obstacle.reason, obstacle.message)] : [];
  const { namespace } = facts.observed;
  const protection = cluster.spec.deletionProtection ? decideProtection("cluster", cluster, namespace) : [];
  const decided = [decideClusterConditions(facts), access, registered, addOns, protection, expiry].flat();
  const details = setConditions(before, decided, now, generation);
  const unhealthyNodes = facts.pools.flatMap((pool) =>
    pool.progress.unhealthy.map((machine) => machine.node ?? machine.name),
  );
  const health = checkHealth(cluster, details, unhealthyNodes, settings.degradedAfterSeconds, now);
  const lost =
    facts.problem?.reason === INFRASTRUCTURE_LOST ? facts.problem : findReturnProblem(facts.observed);
  const degraded = lost ?? health.degraded;
  const summary = setConditions(before, decideSummary(facts, details, degraded), now, generation);
  const requeueAfterMs = earliest([
    findReportWaitMs(summary, settings, now),
    health.requeueAfterMs,
    findAccessReportMs(facts.observed, now),
    findExpiryWaitMs(cluster, now),
    ...facts.observed.pools.map(({ pool }) => findExpiryWaitMs(pool, now)),
    facts.rulesProblem === undefined && isProviderReportCurrent(facts)
      ? findInfrastructureReadMs(facts.observed, now)
      : undefined,
    ...facts.pools.map((pool) => pool.progress.nextChangeInMs),
  ]);
  const { conditions } = withOwnConditions({ conditions: [...summary, ...details] }, clusterConditionTypes);
  return { conditions, requeueAfterMs };
}

/** A control plane serves its version before Cluster API reports the first rollout as converged. */
function findRunningVersion({ cluster, capi }: ObservedCluster): string | undefined {
  if (capi?.state.converged) return capi.state.topologyVersion;
  if (cluster.status?.version !== undefined || capi === undefined) return cluster.status?.version;
  const { controlPlaneVersions, controlPlaneInitialized, topologyVersion } = capi.state;
  return controlPlaneVersions[0] ?? (controlPlaneInitialized ? topologyVersion : undefined);
}

function composeAddresses({ capi, cluster }: ObservedCluster) {
  const { endpoint } = capi?.state ?? {};
  const { apiServerURL, publicAddress } = cluster.status ?? {};
  if (endpoint === undefined)
    return { ...optional("apiServerURL", apiServerURL), ...optional("publicAddress", publicAddress) };
  return { apiServerURL: endpoint.url, ...(cluster.spec.publicEndpoint && { publicAddress: endpoint.host }) };
}

/** A pool of a new cluster counts once it has its nodes: its own status says so a moment later, unless it is being deleted. */
function countPools(
  { cluster, pools }: ObservedCluster,
  measured: readonly MeasuredPool[],
): { total: number; ready: number } {
  const isNew = cluster.status?.firstReadyAt === undefined;
  const complete = new Set(
    measured
      .filter(({ progress, deleting }) => isNew && !deleting && progress.state === "converged")
      .map(({ objectName }) => objectName),
  );
  const ready = pools.filter(({ pool: { metadata, status } }) => {
    const isReady = status?.phase === "Ready" && status.observedGeneration === metadata.generation;
    return isReady || complete.has(metadata.name);
  });
  return { total: pools.length, ready: ready.length };
}

/** Counted pool by pool: Cluster API's own total is seconds behind. */
function countNodes(pools: readonly MeasuredPool[]): { total: number; ready: number } {
  const sum = (count: (progress: MeasuredPool["progress"]) => number) =>
    pools.reduce((total, pool) => total + count(pool.progress), 0);
  return { total: sum((progress) => progress.nodes), ready: sum((progress) => progress.readyNodes) };
}

/** One sentence while something has failed or has waited for long; otherwise nothing. */
function composeMessage(conditions: Conditions, settings: WaitSettings, now: Date): string | undefined {
  const protection = findCondition(conditions, "DeletionProtected");
  if (protection?.reason === "NamespaceDeleting") return protection.message;
  const stalled = findCondition(conditions, "Stalled");
  if (stalled?.status === "True") return stalled.message;
  if (isDegraded(conditions)) return findCondition(conditions, "Ready")?.message;
  const reconciling = findCondition(conditions, "Reconciling");
  const pending = protection?.status === "False" ? protection.message : undefined;
  if (reconciling?.status !== "True") return findCondition(conditions, "ExpiryHeld")?.message ?? pending;
  if (reconciling.reason === "Suspended") return reconciling.message;
  return findReportWaitMs(conditions, settings, now) === undefined ? reconciling.message : undefined;
}

type WaitSettings = Pick<ClusterSettings, "reportWaitAfterSeconds">;

/** In how many ms the message reports what is in progress; undefined = it does already, or nothing is. */
function findReportWaitMs(
  conditions: Conditions,
  { reportWaitAfterSeconds }: WaitSettings,
  now: Date,
): number | undefined {
  const reconciling = findCondition(conditions, "Reconciling");
  if (reconciling?.status !== "True") return undefined;
  const remainingMs = reportWaitAfterSeconds * 1000 - conditionAgeMs(reconciling, now);
  return remainingMs > 0 ? remainingMs : undefined;
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined) {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}

/** What happened to a cluster between two statuses; for programs that must not miss it. */
function findTransitions(
  last: ClusterStatus | undefined,
  next: Pick<ClusterStatus, "firstReadyAt" | "version"> & {
    conditions: readonly ConditionLike<ClusterConditionType>[];
  },
): NewTransition[] {
  const before = last?.conditions ?? [];
  const ready = findCondition(next.conditions, "Ready");
  const version = next.version === undefined ? {} : { version: next.version };
  const reason = ready === undefined ? {} : { reason: ready.reason };
  const transitions: NewTransition[] = [];
  if (last?.firstReadyAt === undefined && next.firstReadyAt !== undefined) {
    transitions.push({ type: "Ready", ...version });
  }
  if (last?.version !== undefined && next.version !== undefined && last.version !== next.version) {
    transitions.push({ type: "Upgraded", version: next.version, previousVersion: last.version });
  }
  if (isDegraded(next.conditions) && !isDegraded(before)) {
    transitions.push({ type: "Degraded", ...version, ...reason });
  }
  if (isDegraded(before) && ready?.status === "True") transitions.push({ type: "Recovered", ...version });
  if (summarizeClusterPhase(next.conditions) === "Failed" && summarizeClusterPhase(before) !== "Failed") {
    transitions.push({ type: "Failed", ...reason });
  }
  return transitions;
}
