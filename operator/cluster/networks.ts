import { isDeepStrictEqual } from "node:util";
import { conditionAgeMs, findCondition, type Problem } from "../../shared/controller/conditions.ts";
import { isIPv6Cidr, maskCidr } from "../../shared/crd/cidr.ts";
import type { ClusterNetwork } from "../../shared/crd/cluster-network.ts";
import type { ClassCapabilities } from "../capi/cluster-class.ts";
import { readVariable } from "../capi/cluster-state.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import type { DesiredCluster } from "../capi/topology.ts";
import { isSuspended } from "../identity/identity.ts";
import type { ClusterSettings, ObservedCluster } from "./observe.ts";

/** A provider applies a changed list within this time, or something is wrong with it. */
const APPLIES_WITHIN_MS = 60_000;
const READ_OFTEN_MS = 5_000;
const READ_SELDOM_MS = 60_000;
const READ_RARELY_MS = 3_600_000;

/** Who may reach the API endpoint, and how often, as Cluster API gets it. */
export interface NetworkRulesChoice extends Pick<DesiredCluster, "authorizedCIDRs" | "apiServerRateLimit"> {
  /** Why the list is not the one of the specification. */
  listProblem: Problem | undefined;
  /** Why the rate limit is not the one of the specification. */
  limitProblem: Problem | undefined;
}

/**
 * The list and the rate limit of the specification; one that the class or the platform does not support stays as it is in
 * force, so that it alone waits and nothing else of the cluster does. A list of which the class does not support some
 * networks is sent without them, as they would not be let in anyway, unless none is left: no list lets everybody in.
 */
export function chooseNetworkRules(
  observed: ObservedCluster,
  { classRef, capabilities }: { classRef: { name: string }; capabilities: ClassCapabilities },
  workerSubnet: string,
): NetworkRulesChoice {
  const { authorizedCIDRs = [], apiServerRateLimit } = observed.cluster.spec.network ?? {};
  const isLacking = (block: string) => capabilities.hasIPv4CIDRsAlone && isIPv6Cidr(block);
  const lacking = authorizedCIDRs.filter(isLacking);
  const supported = authorizedCIDRs.filter((block) => !isLacking(block));
  const platform = observed.settings.platformCIDRs.filter((block) => !isLacking(block));
  const wanted = authorizeCIDRs(supported.length > 0 ? supported : authorizedCIDRs, workerSubnet, platform);
  const listProblem = findListProblem({ platformCIDRs: platform }, classRef.name, capabilities, wanted);
  const what = `IPv6 networks in authorized CIDRs, as ${lacking.join(", ")}`;
  const lack = lacking.length > 0 ? composeUnsupported(classRef.name, what) : undefined;
  const isListKept = listProblem !== undefined || (lack !== undefined && supported.length === 0);
  const limitProblem =
    apiServerRateLimit !== undefined && !capabilities.variables.has("apiServerRateLimit")
      ? composeUnsupported(classRef.name, "a rate limit of the API server")
      : undefined;
  return {
    authorizedCIDRs: isListKept ? readLiveRule(observed, "authorizedCIDRs") : wanted,
    apiServerRateLimit:
      limitProblem === undefined ? apiServerRateLimit : readLiveRule(observed, "apiServerRateLimit"),
    listProblem: listProblem ?? lack,
    limitProblem,
  };
}

/** Why a cluster with these networks cannot be made of a class, with the next step. */
export function composeUnsupported(className: string, what: string): Problem {
  const message = `The cluster class ${className} does not support ${what}. Leave it out, or ask the platform's operator for a class that has it.`;
  return { reason: "UnsupportedByClass", message };
}

/** What a new cluster with a private endpoint waits for where its class has none. */
export function composePrivateEndpointWait(className: string): Problem {
  const message = `The cluster class ${className} does not support a private endpoint, so nothing is made. Create the cluster again with a public one, or ask the platform's operator for a class that has it.`;
  return { reason: "UnsupportedByClass", message };
}

function findListProblem(
  { platformCIDRs }: Pick<ClusterSettings, "platformCIDRs">,
  className: string,
  { variables, maxAuthorizedCIDRs }: ClassCapabilities,
  wanted: readonly string[] | undefined,
): Problem | undefined {
  if (wanted === undefined) return undefined;
  // A list without the platform's own networks closes the endpoint to the platform itself.
  if (platformCIDRs.length === 0) {
    const message =
      "The platform cannot limit who reaches the API endpoint: remove spec.network.authorizedCIDRs, or ask the platform's operator to set MARINA_PLATFORM_CIDRS.";
    return { reason: "AuthorizedCIDRsUnavailable", message };
  }
  if (!variables.has("authorizedCIDRs")) return composeUnsupported(className, "authorized CIDRs");
  if (maxAuthorizedCIDRs === undefined || wanted.length <= maxAuthorizedCIDRs) return undefined;
  const own = countPlatformCIDRs(platformCIDRs);
  const message = `The cluster class ${className} takes at most ${maxAuthorizedCIDRs} authorized CIDRs, and with the ${own} of the platform and the workers these are ${wanted.length}. Leave some out, or ask the platform's operator for a class that takes more.`;
  return { reason: "UnsupportedByClass", message };
}

/** How many networks of its own a tenant's list can always have where a class takes `most`. */
export function countTenantCIDRs(most: number, platformCIDRs: readonly string[]): number {
  return Math.max(0, most - countPlatformCIDRs(platformCIDRs));
}

/** With the network of the workers. */
function countPlatformCIDRs(platformCIDRs: readonly string[]): number {
  return new Set(platformCIDRs).size + 1;
}

/**
 * Whether Cluster API has the network rules that were decided. `unsent`: they are about to be sent, or the cluster was suspended
 * before Cluster API had it; `waiting`: the cluster is suspended, so that it keeps others.
 */
export type RulesState = "sent" | "unsent" | "waiting";

/**
 * If only the platform's own networks changed and not the specification, the rules of a suspended cluster count as
 * sent: it keeps what is in force.
 */
export function decideRulesState(observed: ObservedCluster, desired: CapiCluster): RulesState {
  const { cluster, capi } = observed;
  const isSent = (["authorizedCIDRs", "apiServerRateLimit"] as const).every((name) =>
    isDeepStrictEqual(readVariable(desired, name), readLiveRule(observed, name)),
  );
  if (!isSuspended(cluster)) return isSent ? "sent" : "unsent";
  if (capi === undefined) return "unsent";
  return isSent || isReportedInForce(observed) ? "sent" : "waiting";
}

/**
 * Whether the status has to be corrected to "not in force" before other rules are sent. Otherwise, after a crash in between, nothing
 * would show that the provider's object has to be read again; when rules are removed, the specification does not either.
 */
export function mustCorrectStatus(observed: ObservedCluster): boolean {
  const isFalse = findRulesCondition(observed)?.status === "False";
  return isReportedInForce(observed) || (!isFalse && !hasRules(observed.cluster));
}

function isReportedInForce(observed: ObservedCluster): boolean {
  const last = findRulesCondition(observed);
  return last?.status === "True" && last.observedGeneration === observed.cluster.metadata.generation;
}

/** Whether a rule waits alone, by the status, which says so whatever is in force. */
function isRuleWaiting(observed: ObservedCluster): boolean {
  const { metadata, status } = observed.cluster;
  const { reason, observedGeneration } = findRulesCondition(observed) ?? {};
  const isReason = status?.unapplied?.some((it) => it.field.startsWith("network.") && it.reason === reason);
  return isReason === true && observedGeneration === metadata.generation;
}

/** With these reasons the condition of the rules says nothing of what is in force. */
export const NO_EVIDENCE_REASONS: readonly (string | undefined)[] = ["ProviderUnreadable", "RequestedOnly"];

/** What the status says of the network rules. */
export function findRulesCondition({ cluster }: Pick<ObservedCluster, "cluster">) {
  return findCondition(cluster.status?.conditions, "NetworkPolicyApplied");
}

/**
 * Whether a cluster without rules may have the previous ones in force. The condition stays True until rules are about
 * to be removed, and is Unknown while the cluster was never ready.
 */
function mayHaveFormerRules(observed: ObservedCluster): boolean {
  const { status, reason } = findRulesCondition(observed) ?? {};
  if (status === "False" || NO_EVIDENCE_REASONS.includes(reason)) return true;
  return status !== "True" && observed.cluster.status?.firstReadyAt !== undefined;
}

function readLiveRule<Name extends "authorizedCIDRs" | "apiServerRateLimit">(
  { capi }: ObservedCluster,
  name: Name,
): DesiredCluster[Name] {
  return capi && (readVariable(capi.object, name) as DesiredCluster[Name]);
}

/**
 * An empty list means any source. Workers and the platform itself are always authorized, and not shown to tenants. Each block
 * once, however it is written: providers refuse the same one twice.
 */
export function authorizeCIDRs(
  tenants: readonly string[] | undefined,
  workerSubnet: string,
  platform: readonly string[],
): string[] | undefined {
  if (tenants === undefined || tenants.length === 0) return undefined;
  return [...new Set([...tenants, workerSubnet, ...platform].map((block) => maskCidr(block) ?? block))];
}

/** Whether the condition of the network rules depends on the provider's object (`infrastructureRef` of Cluster API). */
export function needsInfrastructureObject(observed: ObservedCluster): boolean {
  const { cluster, capi } = observed;
  if (capi === undefined || cluster.metadata.deletionTimestamp !== undefined || isRuleWaiting(observed))
    return false;
  // While it is paused, Cluster API observes nothing.
  if (!capi.state.isGenerationObserved && !isSuspended(cluster)) return false;
  if (!hasRules(cluster)) return mayHaveFormerRules(observed);
  return !mayBeIgnored(observed) && !isReportedInForce(observed);
}

/**
 * In how many ms the provider's object, which is not watched, is read again: soon after a change, now and then where it
 * does not act or cannot be read, and after as long again, an hour at most, of a provider that reports nothing: it hardly
 * begins to, and other rules begin with False. Undefined = it is not needed.
 */
export function findInfrastructureReadMs(observed: ObservedCluster, now: Date): number | undefined {
  if (!needsInfrastructureObject(observed)) return undefined;
  const last = findRulesCondition(observed);
  const ageMs = conditionAgeMs(last, now);
  if (ageMs < APPLIES_WITHIN_MS) return READ_OFTEN_MS;
  return last?.reason === "RequestedOnly" ? Math.min(ageMs, READ_RARELY_MS) : READ_SELDOM_MS;
}

/**
 * `inForce`: the provider has acted on exactly the list that Cluster API has, for a longer one lets others in, and on none where it has
 * none any more; and no machine of a rollout has another rate limit, which a class may write on the control plane. Of a suspended
 * cluster, whose rollouts stand still, the limit is as it was last seen. `requested`: it does not report whether it has acted on rules.
 */
export function findRulesEvidence(observed: ObservedCluster): "inForce" | "requested" | undefined {
  const { cluster, capi, infrastructure, settings } = observed;
  if (capi === undefined) return undefined;
  if (!hasRules(cluster) && !mayHaveFormerRules(observed)) return "inForce";
  const { hasActed, isSilent, lists = [] } = infrastructure ?? {};
  if (hasActed !== true && isSilent !== true) return undefined;
  const evidence = isSilent && hasRules(cluster) ? "requested" : "inForce";
  const { status, reason } = findRulesCondition(observed) ?? {};
  // Rules that waited for the resumption, and are taken back, leave no trace.
  const wasWaiting = !hasRules(cluster) && status === "False" && reason === "Suspended";
  const isAsLastSeen = isSuspended(cluster) && (status === "True" || wasWaiting);
  const isLimited = cluster.spec.network?.apiServerRateLimit !== undefined;
  // Beside a list that stays nothing tells a limit that is being removed from another rollout.
  const mayHaveHadLimit =
    !isRestricted(cluster) && findClass(observed)?.variables.has("apiServerRateLimit") !== false;
  if ((isLimited || mayHaveHadLimit) && !capi.state.converged && !isAsLastSeen) return undefined;
  // A class leaves the nodes' network out where its provider lets them in by itself.
  const workerSubnet = capi.state.workerSubnet ?? cluster.status?.workerSubnet ?? "";
  if (!isRestricted(cluster)) {
    const own = settings.platformCIDRs.length > 0 ? settings.platformCIDRs : [workerSubnet];
    const hasList = lists.some((list) => own.every((block) => list.has(maskCidr(block) ?? block)));
    return hasList ? undefined : evidence;
  }
  const sortOthers = (list: Iterable<string>) =>
    [...list].filter((network) => network !== workerSubnet).sort();
  const networks = sortOthers(readLiveRule(observed, "authorizedCIDRs") ?? []);
  return lists.some((list) => isDeepStrictEqual(sortOthers(list), networks)) ? evidence : undefined;
}

/**
 * Whether what the provider's object shows is about the rules that were decided. It is not while a class is about to be
 * sent, which may write them elsewhere; it is while a problem keeps Cluster API's object unchanged.
 */
export function isProviderReportCurrent(facts: {
  observed: ObservedCluster;
  rulesState: RulesState | undefined;
  isCarriedOut: boolean;
  problem: Problem | undefined;
}): boolean {
  const { observed, rulesState, isCarriedOut, problem } = facts;
  return rulesState === "sent" && (isCarriedOut || problem !== undefined || isSuspended(observed.cluster));
}

/**
 * Whether the rules that Cluster API has are in force because they were before: when pools alone changed, when it has
 * no rules, while it is being deleted, and while it is suspended and the provider's object cannot be read.
 */
export function areRulesStillInForce(observed: ObservedCluster): boolean {
  const { cluster, capi, infrastructure } = observed;
  if (capi === undefined || findRulesCondition(observed)?.status !== "True") return false;
  if (isReportedInForce(observed) || cluster.metadata.deletionTimestamp !== undefined) return true;
  return !hasRules(cluster) || (isSuspended(cluster) && infrastructure?.hasActed === undefined);
}

/** Whether there is anything to enforce: a list of networks or a rate limit. */
function hasRules(cluster: ObservedCluster["cluster"]): boolean {
  return isRestricted(cluster) || cluster.spec.network?.apiServerRateLimit !== undefined;
}

/** Whether a cluster that was made has no network rules, and is to have none. */
export function isWithoutRules(observed: ObservedCluster): boolean {
  if (observed.capi === undefined || hasRules(observed.cluster) || mayHaveFormerRules(observed)) return false;
  const live = [readLiveRule(observed, "authorizedCIDRs"), readLiveRule(observed, "apiServerRateLimit")];
  return live.every((rule) => rule === undefined);
}

/** Whether the infrastructure may ignore the list of a cluster without a word. */
export function mayBeIgnored(observed: ObservedCluster): boolean {
  return isRestricted(observed.cluster) && findClass(observed)?.mayIgnoreAuthorizedCIDRs === true;
}

function findClass({ capi, classes }: ObservedCluster): ClassCapabilities | undefined {
  const { classRef } = capi?.state ?? {};
  return classRef && classes.get(`${classRef.namespace}/${classRef.name}`);
}

function isRestricted({ spec }: ObservedCluster["cluster"]): boolean {
  return (spec.network?.authorizedCIDRs ?? []).length > 0;
}

/**
 * The networks that Cluster API gets: for a new cluster those of its specification, and what that leaves out from the
 * configuration. A cluster that exists keeps what it has, also nothing: its nodes and Services have their addresses.
 */
export function chooseNetwork({ cluster, capi, settings }: ObservedCluster): ClusterNetwork {
  if (capi !== undefined) {
    const { pods, services } = capi.object.spec?.clusterNetwork ?? {};
    return { pods: pods?.cidrBlocks, services: services?.cidrBlocks };
  }
  return { ...settings.clusterNetwork, ...cluster.spec.clusterNetwork };
}
