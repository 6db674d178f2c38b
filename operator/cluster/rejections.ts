import { isDeepStrictEqual } from "node:util";
import { hashOf } from "../../shared/controller/applied.ts";
import type { Problem } from "../../shared/controller/conditions.ts";
import type { UnappliedPart } from "../../shared/crd/conditions.ts";
import { KubeError } from "../../shared/kube/errors.ts";
import { readVariable } from "../capi/cluster-state.ts";
import type { CapiCluster, CapiTopology, CapiVariable, MachineDeploymentTopology } from "../capi/kinds.ts";
import { explainCause, explainRejection, findRejectionCause } from "../capi/tenant-messages.ts";
import type { DesiredCluster } from "../capi/topology.ts";
import {
  type ApplyFailure,
  NOTHING_REJECTED,
  type ObservedCluster,
  type Rejected,
  type RejectedPart,
} from "./observe.ts";

const POOLS = /^spec\.topology\.workers\.machineDeployments\[([^\]]+)\](.*)$/;
const VARIABLE = /^spec\.topology\.variables\[([a-z][^\]]*)\]/i;
const MACHINE = ".variables.overrides[machine]";

/**
 * The newly rejected parts, by the fields that a rejection of Cluster API names. Of a cluster that is not made yet a
 * pool alone can be left out. Empty = nothing can be left out on its account.
 */
function findRejectedParts(
  { sent, live, rejected }: { sent: CapiCluster; live: CapiCluster | undefined; rejected: Rejected },
  { message, cause }: { message: string; cause?: unknown },
): Rejected {
  if (findRejectionCause(message) === "taints")
    return rejected.has("taints") ? NOTHING_REJECTED : new Map([["taints", explainRejection(message)]]);
  const found = new Map<RejectedPart, string>();
  for (const { field = "", message: why = "" } of listCauses(cause)) {
    const part = listParts(field, sent.spec?.topology, live?.spec?.topology).find(
      (one) => !rejected.has(one),
    );
    if (part !== undefined && !found.has(part)) found.set(part, explainCause(field, why));
  }
  return found;
}

function listCauses(cause: unknown) {
  return cause instanceof KubeError ? (cause.details?.causes ?? []) : [];
}

/** The parts that a field belongs to, the smallest first; those that are as Cluster API has them already are none. */
function listParts(
  field: string,
  sent: CapiTopology | undefined,
  live: CapiTopology | undefined,
): RejectedPart[] {
  const [, key = "", path = ""] = POOLS.exec(field) ?? [];
  const pools = sent?.workers?.machineDeployments ?? [];
  // Cluster API names a pool, a schema the place in its list.
  const pool = pools.find(({ name }) => name === key) ?? pools[Number(key)];
  if (key !== "" && pool !== undefined) {
    const known = findNamed(live?.workers?.machineDeployments, pool.name);
    const isSameMachine = known !== undefined && isSame(machineOf(known), machineOf(pool));
    return [
      ...(path.startsWith(MACHINE) && !isSameMachine ? ([`machine ${pool.name}`] as const) : []),
      ...(known === undefined || !isSame(known, pool) ? ([`pool ${pool.name}`] as const) : []),
    ];
  }
  if (live === undefined) return [];
  const [, variable] = VARIABLE.exec(field) ?? [];
  if (variable !== undefined)
    return isSame(findNamed(live.variables, variable), findNamed(sent?.variables, variable))
      ? []
      : [`variable ${variable}`];
  const isChanged = !isSame(live.controlPlane, sent?.controlPlane);
  return field.startsWith("spec.topology.controlPlane") && isChanged ? ["control plane"] : [];
}

function machineOf({ variables }: MachineDeploymentTopology): unknown {
  return findNamed(variables?.overrides, "machine")?.value;
}

function findNamed<T extends { name: string }>(list: readonly T[] | undefined, name: string): T | undefined {
  return list?.find((one) => one.name === name);
}

function isSame(left: unknown, right: unknown): boolean {
  return hashOf({ value: left }) === hashOf({ value: right });
}

/**
 * The object to apply, with each rejected part as Cluster API has it, but for machine sizes and taints (choosePools) and
 * the version (service plan), which are chosen before. Where it did not say which part it rejects,
 * everything is kept except the list of networks that may reach the API endpoint, and deleted pools: neither waits for
 * anything.
 */
export function withLiveParts(
  desired: CapiCluster,
  live: CapiCluster | undefined,
  rejected: Rejected,
): CapiCluster {
  const wanted = desired.spec?.topology;
  const current = live?.spec?.topology;
  if (rejected.size === 0 || wanted === undefined || live === undefined || current === undefined)
    return desired;
  const isUnknown = rejected.has("unknown");
  const list = findNamed(wanted.variables, "authorizedCIDRs");
  const variables = isUnknown ? replaceNamed(current.variables, "authorizedCIDRs", list) : wanted.variables;
  const kept = [...rejected.keys()].flatMap((part) => /^variable (.*)$/.exec(part)?.[1] ?? []);
  const retained = kept.reduce<readonly CapiVariable[]>(
    (all, name) => replaceNamed(all, name, findNamed(current.variables, name)),
    variables ?? [],
  );
  const machineDeployments = retainPools(wanted, current, rejected);
  // Cluster API rejects empty lists.
  const { variables: _, workers: __, ...others } = isUnknown ? current : wanted;
  const topology: CapiTopology = {
    ...others,
    ...(rejected.has("control plane") && current.controlPlane && { controlPlane: current.controlPlane }),
    ...(retained.length > 0 && { variables: [...retained] }),
    ...(machineDeployments.length > 0 && { workers: { machineDeployments } }),
  };
  const { clusterNetwork } = (isUnknown ? live : desired).spec ?? {};
  return {
    ...desired,
    metadata: isUnknown ? withLabelsOf(desired, live) : desired.metadata,
    spec: { ...(clusterNetwork && { clusterNetwork }), topology },
  };
}

function retainPools(wanted: CapiTopology, current: CapiTopology, rejected: Rejected) {
  const pools = wanted.workers?.machineDeployments ?? [];
  return pools.flatMap((pool) => {
    const isRejected = rejected.has("unknown") || rejected.has(`pool ${pool.name}`);
    return isRejected ? (findNamed(current.workers?.machineDeployments, pool.name) ?? []) : pool;
  });
}

function withLabelsOf(desired: CapiCluster, { metadata: { labels = {} } }: CapiCluster) {
  const names = Object.keys(desired.metadata.labels ?? {}).filter((name) => Object.hasOwn(labels, name));
  return { ...desired.metadata, labels: Object.fromEntries(names.map((name) => [name, labels[name] ?? ""])) };
}

function replaceNamed<T extends { name: string }>(
  list: readonly T[] = [],
  name: string,
  value: T | undefined,
): T[] {
  const others = list.filter((one) => one.name !== name);
  return value === undefined ? others : [...others, value];
}

/** The problem when Cluster API rejects the cluster, by its own text, with the next step. */
export function composeRejection(text: string): Problem {
  if (findRejectionCause(text) === "quota") {
    const message = `A quota of the platform is exceeded: ${explainRejection(text)}. Delete what is not needed, or ask the platform's operator for more.`;
    return { reason: "QuotaExceeded", message };
  }
  const message = `Cluster API rejects the cluster as specified: ${explainRejection(text)}. Change the specification, or ask the platform's operator.`;
  return { reason: "RejectedByClusterAPI", message };
}

/** Whether a rejection is about what a tenant has specified: the status shows it, and the platform's operator has nothing to do. */
export function isOfSpecification({ verb, message, cause }: ApplyFailure): boolean {
  const about = findRejectionCause(message);
  if (verb !== "apply" || about === "taints") return false;
  return about === "quota" || (cause instanceof KubeError && cause.isInvalid);
}

/** What is said of rejected parts, apart from the pools, which say it themselves; `rules`: of network rules, for their condition. */
export function describeRejected({
  rejected,
  upgradeRejection: upgrade,
}: Pick<ObservedCluster, "rejected" | "upgradeRejection">): {
  problem: Problem | undefined;
  rules: UnappliedPart[];
  unapplied: UnappliedPart[];
} {
  const unknownPart = rejected.get("unknown");
  const unapplied: UnappliedPart[] = [];
  // What rejects everything, with one text, is no part that waits alone. While a rollout goes on, the next version waits for its end.
  if (upgrade !== undefined && upgrade !== unknownPart && findRejectionCause(upgrade) !== "rollout")
    unapplied.push({ field: "version", ...composeRejection(upgrade) });
  const rules: UnappliedPart[] = [];
  for (const [part, why] of rejected) {
    const [, variable] = /^variable (.*)$/.exec(part) ?? [];
    const rule = RULES.find((name) => name === variable);
    const field = rule === undefined ? variable : `network.${rule}`;
    const name = part === "control plane" ? "controlPlaneReplicas" : field;
    if (name === undefined) continue;
    const message = `Cluster API rejects spec.${name}: ${why}. Change it, or ask the platform's operator.`;
    const parts = rule === undefined ? unapplied : rules;
    parts.push({ field: name, reason: "RejectedByClusterAPI", message });
  }
  const problem = unknownPart === undefined ? undefined : composeRejection(unknownPart);
  return { problem, rules, unapplied };
}

/** The problem when the rate limit stays as it was, as where Cluster API did not say what it rejected; undefined = it is as specified. */
export function findRetainedLimit(
  wanted: DesiredCluster["apiServerRateLimit"],
  retained: CapiCluster,
): Problem | undefined {
  if (isDeepStrictEqual(wanted, readVariable(retained, "apiServerRateLimit"))) return undefined;
  const message =
    "The rate limit of the API server is not the one of the specification: Cluster API rejects the cluster as specified.";
  return { reason: "RejectedByClusterAPI", message };
}

const RULES = ["authorizedCIDRs", "apiServerRateLimit"] as const;

/**
 * What the next decision has to know after a rejection, so that more is kept as Cluster API has it: the parts that it
 * names; else the version with its class, because other parts may fail only with the new one; else everything except
 * removals (see withLiveParts). Undefined = nothing is left to keep.
 */
export function addRejected(
  { rejected, capi, upgradeRejection }: Pick<ObservedCluster, "rejected" | "capi" | "upgradeRejection">,
  { sent, isUpgrade }: { sent: CapiCluster; isUpgrade: boolean },
  failure: ApplyFailure,
): Pick<ObservedCluster, "rejected" | "upgradeRejection"> | undefined {
  const added = findRejectedParts({ sent, live: capi?.object, rejected }, failure);
  if (added.size > 0) return { rejected: new Map([...rejected, ...added]), upgradeRejection };
  if (isUpgrade && upgradeRejection === undefined) {
    const kept = [...rejected].filter(([part]) => part === "taints");
    return { rejected: new Map([...kept, ["version", failure.message]]), upgradeRejection: failure.message };
  }
  if (capi === undefined || rejected.has("unknown")) return undefined;
  return { rejected: new Map([...rejected, ["unknown", failure.message]]), upgradeRejection };
}

/** Cluster API does not show which feature gates it has: the taints that it rejected are tried again after this time. */
const TAINTS_AGAIN_AFTER_MS = 600_000;
/** Any other rejected part: its cause may have ended unnoticed. */
const AGAIN_AFTER_MS = 60_000;

/**
 * Keeps what Cluster API rejected of each cluster, so that it is not sent with each reconcile: until the specification changes,
 * of taints what they depend on, and for a time. After a restart each is tried once.
 */
export interface Rejections {
  record(key: string, observed: ObservedCluster, rejected: Rejected): void;
  /** What is not to be sent, and in how many ms the first of it is tried again; undefined = nothing is rejected. */
  find(key: string, observed: ObservedCluster): { rejected: Rejected; retryMs: number | undefined };
  forget(key: string): void;
}

interface Rejection {
  why: string;
  basis: string;
  untilMs: number;
}

export function createRejections(nowMs: () => number = () => performance.now()): Rejections {
  const clusters = new Map<string, ReadonlyMap<RejectedPart, Rejection>>();
  return {
    record(key, observed, rejected) {
      const known = [...(clusters.get(key) ?? [])].filter(([part]) => rejected.has(part));
      const added = [...rejected].filter(([part]) => !known.some(([one]) => one === part));
      const entries = added.map(([part, why]): [RejectedPart, Rejection] => {
        const untilMs = nowMs() + (part === "taints" ? TAINTS_AGAIN_AFTER_MS : AGAIN_AFTER_MS);
        return [part, { why, basis: basisOf(part, observed), untilMs }];
      });
      clusters.set(key, new Map([...known, ...entries]));
    },
    find(key, observed) {
      const all = [...(clusters.get(key) ?? [])];
      const valid = all.filter(
        ([part, { basis, untilMs }]) => untilMs > nowMs() && basis === basisOf(part, observed),
      );
      if (valid.length === 0) {
        clusters.delete(key);
        return { rejected: NOTHING_REJECTED, retryMs: undefined };
      }
      clusters.set(key, new Map(valid));
      return {
        rejected: new Map(valid.map(([part, { why }]) => [part, why])),
        retryMs: Math.min(...valid.map(([, { untilMs }]) => untilMs)) - nowMs(),
      };
    },
    forget(key) {
      clusters.delete(key);
    },
  };
}

/** What a rejection depends on. */
function basisOf(part: RejectedPart, { cluster, capi, pools, classes }: ObservedCluster): string {
  if (part !== "taints") {
    const { topologyVersion, converged, rollingOut } = capi?.state ?? {};
    const rollout = part === "version" ? [topologyVersion, converged, rollingOut] : [];
    const { uid, generation } = cluster.metadata;
    const objects = pools.map(({ pool: { metadata } }) => [
      metadata.uid,
      metadata.generation,
      metadata.deletionTimestamp,
    ]);
    return hashOf({ cluster: [uid, generation], pools: objects, rollout });
  }
  const tainted = pools.filter(({ pool }) => (pool.spec.nodeTaints ?? []).length > 0);
  return hashOf({
    pools: tainted.map(({ pool: { metadata, spec } }) => [metadata.uid, spec.nodeTaints]),
    classes: [...classes].flatMap(([name, { variables }]) => (variables.has("nodeTaints") ? [name] : [])),
  });
}
