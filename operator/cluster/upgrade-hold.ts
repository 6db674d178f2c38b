import { findCondition, type Problem } from "../../shared/controller/conditions.ts";
import { compareKubernetesVersions } from "../../shared/crd/kubernetes-version.ts";
import { findForceReason, isEnforced } from "../../shared/crd/upgrade-checks.ts";
import {
  describeBlockedUpgrade,
  describeWarnedUpgrade,
  isBlocking,
} from "../../shared/tenant/upgrade/upgrade-check.ts";
import type { ObservedCluster } from "./observe.ts";
import { resolveTarget } from "./version.ts";

/** What holds an upgrade: its checks are being made, or some of them block it. */
interface UpgradeHold {
  state: "checking" | "blocked";
  message: string;
}

/**
 * The full version of an upgrade that is requested and has not begun: above what runs, and not what `status.targetVersion` says.
 * Undefined = none, also for a cluster that has not run yet.
 */
function findNewTarget({ cluster, capi, catalogue }: ObservedCluster): string | undefined {
  const { status, spec, metadata } = cluster;
  const live = capi?.state.version;
  if (live === undefined || status?.version === undefined || metadata.deletionTimestamp !== undefined)
    return undefined;
  const last = status.targetVersion ?? live;
  const target = resolveTarget(spec.version, last, catalogue);
  if (target === undefined || target === last || compareKubernetesVersions(target, live) <= 0)
    return undefined;
  return target;
}

/** The version whose upgrade has to be checked before it begins: one that is not forced. */
export function findTargetToCheck(observed: ObservedCluster): string | undefined {
  const target = findNewTarget(observed);
  return target !== undefined && findForceReason(observed.cluster.metadata, target) === undefined
    ? target
    : undefined;
}

/**
 * What holds the upgrade that is requested; undefined = nothing. By the checks that were read: in a process that has just
 * started, and has read none, an upgrade that was blocked stays so.
 */
export function findUpgradeHold(observed: ObservedCluster): UpgradeHold | undefined {
  const target = findTargetToCheck(observed);
  if (target === undefined) return undefined;
  const { cluster, upgradeChecks: checks } = observed;
  const enforced = isEnforced(cluster.spec);
  if (checks === undefined) {
    const last = findCondition(cluster.status?.conditions, "UpgradeBlocked");
    if (enforced && last?.status === "True" && last.observedGeneration === cluster.metadata.generation)
      return { state: "blocked", message: last.message };
    const message = `Upgrading from ${cluster.status?.version} to ${target}: what the upgrade finds in the cluster is being read.`;
    return { state: "checking", message };
  }
  if (!enforced || !checks.some(isBlocking)) return undefined;
  return { state: "blocked", message: describeBlockedUpgrade(target, checks) };
}

/** The version to go to: what is specified, or, while the upgrade to it is held, what was accepted before. */
export function chooseRequested(observed: ObservedCluster): string {
  const { cluster, capi } = observed;
  const accepted = cluster.status?.targetVersion ?? capi?.state.version;
  return accepted !== undefined && findUpgradeHold(observed) !== undefined ? accepted : cluster.spec.version;
}

/** Why the upgrade is blocked, which a person has to solve. */
export function findBlockedUpgrade(observed: ObservedCluster): Problem | undefined {
  const hold = findUpgradeHold(observed);
  return hold?.state === "blocked" ? { reason: "UpgradeBlocked", message: hold.message } : undefined;
}

const MAX_REASON_LENGTH = 256;

/** What an upgrade that begins now is warned of: that it is forced, or what its checks found. */
export function describeBegunUpgrade(
  observed: ObservedCluster,
  begun: string | undefined,
): { reason: string; note: string } | undefined {
  const target = findNewTarget(observed);
  if (target === undefined || target !== begun) return undefined;
  const forced = findForceReason(observed.cluster.metadata, target);
  if (forced !== undefined) {
    const reason = forced.slice(0, MAX_REASON_LENGTH).replaceAll(/\p{C}|\p{Zl}|\p{Zp}/gu, "\uFFFD");
    return { reason: "UpgradeForced", note: `The upgrade to Kubernetes ${target} is forced: ${reason}` };
  }
  const checks = observed.upgradeChecks ?? [];
  if (checks.length === 0) return undefined;
  return { reason: "UpgradeWarnings", note: describeWarnedUpgrade(target, checks) };
}
