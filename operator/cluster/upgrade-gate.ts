import { findCondition, type Problem } from "../../shared/controller/conditions.ts";
import { compareKubernetesVersions } from "../../shared/crd/kubernetes-version.ts";
import { findForceReason, isEnforced, MAX_FORCE_REASON_LENGTH } from "../../shared/crd/upgrade-checks.ts";
import { copyTruncated } from "../../shared/kube/errors.ts";
import {
  describeBlockedUpgrade,
  describeWarnedUpgrade,
  isBlocking,
  type UpgradeCheck,
} from "../../shared/tenant/upgrade/upgrade-check.ts";
import { isDeleting } from "../identity/identity.ts";
import type { ObservedCluster } from "./observe.ts";
import { resolveTarget } from "./version.ts";

/** Why an upgrade does not begin: its checks are being made, or some of them block it. */
interface UpgradeGate {
  state: "checking" | "blocked";
  message: string;
}

/**
 * The full version of an upgrade that is requested and has not begun: above that in the topology, and not `status.targetVersion`.
 * Undefined = none, also for a cluster that has not run yet.
 */
function findNewTarget({ cluster, capi, catalogue }: ObservedCluster): string | undefined {
  const { status, spec } = cluster;
  const { topologyVersion } = capi?.state ?? {};
  if (topologyVersion === undefined || status?.version === undefined || isDeleting(cluster)) return undefined;
  const last = status.targetVersion ?? topologyVersion;
  const target = resolveTarget(spec.version, last, catalogue);
  if (target === undefined || target === last) return undefined;
  return compareKubernetesVersions(target, topologyVersion) > 0 ? target : undefined;
}

/** The version whose upgrade has to be checked before it begins: one that is not forced. */
export function findTargetToCheck(observed: ObservedCluster): string | undefined {
  const target = findNewTarget(observed);
  return target !== undefined && findForceReason(observed.cluster.metadata, target) === undefined
    ? target
    : undefined;
}

/** An upgrade that is requested and has not begun. */
export interface RequestedUpgrade {
  target: string;
  /** The reason for which it is forced. */
  forced: string | undefined;
  /** Why it does not begin; undefined = it may. */
  gate: UpgradeGate | undefined;
}

/** What is decided of the upgrade that is requested; undefined = none is. */
export function decideUpgrade(observed: ObservedCluster): RequestedUpgrade | undefined {
  const target = findNewTarget(observed);
  if (target === undefined) return undefined;
  const forced = findForceReason(observed.cluster.metadata, target);
  return { target, forced, gate: forced === undefined ? findGate(observed, target) : undefined };
}

/**
 * By the checks that were read: in a process that has just started, and has read none, an upgrade that was blocked stays so.
 */
function findGate(
  { cluster, upgradeChecks: checks }: ObservedCluster,
  target: string,
): UpgradeGate | undefined {
  const enforced = isEnforced(cluster.spec);
  if (checks === undefined) {
    const last = findCondition(cluster.status?.conditions, "UpgradeBlocked");
    if (enforced && last?.status === "True" && last.observedGeneration === cluster.metadata.generation)
      return { state: "blocked", message: last.message };
    const message = `Upgrading from ${cluster.status?.version} to ${target}: the upgrade checks are running.`;
    return { state: "checking", message };
  }
  if (!enforced || !checks.some(isBlocking)) return undefined;
  return { state: "blocked", message: describeBlockedUpgrade(target, checks) };
}

/** The version to go to: what is specified, or, while the upgrade to it may not begin, what was accepted before. */
export function chooseRequested(
  { cluster, capi }: ObservedCluster,
  upgrade: RequestedUpgrade | undefined,
): string {
  const accepted = cluster.status?.targetVersion ?? capi?.state.topologyVersion;
  return accepted !== undefined && upgrade?.gate !== undefined ? accepted : cluster.spec.version;
}

/** Why the upgrade is blocked, which a person has to solve. */
export function findBlockedUpgrade(upgrade: RequestedUpgrade | undefined): Problem | undefined {
  const gate = upgrade?.gate;
  return gate?.state === "blocked" ? { reason: "UpgradeBlocked", message: gate.message } : undefined;
}

/** What an upgrade that begins is warned of: that it is forced, or what its checks found. */
export function describeBegunUpgrade(
  { target, forced }: RequestedUpgrade,
  checks: readonly UpgradeCheck[] = [],
): { reason: string; note: string } | undefined {
  if (forced !== undefined) {
    const reason = copyTruncated(forced, MAX_FORCE_REASON_LENGTH);
    return { reason: "UpgradeForced", note: `The upgrade to Kubernetes ${target} is forced: ${reason}` };
  }
  if (checks.length === 0) return undefined;
  return { reason: "UpgradeWarnings", note: describeWarnedUpgrade(target, checks) };
}
