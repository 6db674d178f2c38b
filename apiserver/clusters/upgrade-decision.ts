import { findCondition } from "../../shared/controller/conditions.ts";
import type { ClusterSpec } from "../../shared/crd/cluster.ts";
import { compareKubernetesVersions, parseKubernetesVersion } from "../../shared/crd/kubernetes-version.ts";
import type { PlanCapabilities } from "../../shared/crd/published-config.ts";
import { toRestWords } from "../../shared/crd/rest-words.ts";
import { composeForce, findForceReason, isEnforced } from "../../shared/crd/upgrade-checks.ts";
import {
  describeBlockedUpgrade,
  describeCheck,
  isBlocking,
  type UpgradeCheck,
} from "../../shared/tenant/upgrade/upgrade-check.ts";
import { ApiError, type ErrorDetail, invalidField } from "../http/errors.ts";
import { findUnsupported, findUnsupportedCidrs } from "../resources/platform-config.ts";
import type { ProjectedCluster } from "../resources/project/index.ts";
import { withoutPrefix } from "./kubernetes-version.ts";
import type { ClusterPatch } from "./merge-update.ts";

/** What an upgrade finds; `unknown` when nothing could be read. */
export type UpgradeChecks = UpgradeCheck[] | { unknown: string };

/** What a body says of an upgrade. */
export interface RequestedUpgrade {
  /** The field that names the version. */
  field: "k8s_version" | "target_version";
  /** Undefined when it names none. */
  target: string | undefined;
  force: { reason: string } | undefined;
}

/** With what was read before anything is written: the full version, undefined where none begins, and what it finds. */
export interface CheckedUpgrade extends RequestedUpgrade {
  version: string | undefined;
  checks: UpgradeChecks;
}

/** The version, where it is above the one that runs: to give up an upgrade that is held is none. */
export function findNewVersion(
  { object: { status } }: Pick<ProjectedCluster, "object">,
  version: string | undefined,
): string | undefined {
  if (version === undefined || status?.version === undefined) return undefined;
  return compareKubernetesVersions(version, status.version) > 0 ? version : undefined;
}

/** Where the checks of another version were read. */
export const CHANGED = { unknown: "The cluster was changed meanwhile." };

/** What was read of the upgrade to this version. */
export function findChecks(upgrade: CheckedUpgrade, version: string): UpgradeChecks {
  return upgrade.version === version ? upgrade.checks : CHANGED;
}

/**
 * The annotation that forces the upgrade, as the body requests: of a new version, or of the one that checks hold at present;
 * none where it stands already. Throws 422 for a force without an upgrade, or of one whose full version nobody names.
 */
export function decideForce(
  current: ProjectedCluster,
  patch: Pick<ClusterPatch, "version">,
  { field, target, force }: RequestedUpgrade,
): Record<string, string> {
  if (force === undefined) return {};
  const version = findNewVersion(current, patch.version);
  if (version !== undefined) return composeForce(version, force.reason);
  const { metadata, spec, status } = current.object;
  const desired = withoutPrefix(spec.version);
  const isNamed = target !== undefined && patch.version === undefined;
  if (isNamed && findForceReason(metadata, desired) === force.reason) return {};
  const isHeld = findCondition(status?.conditions, "UpgradeBlocked")?.status === "True";
  if (isNamed && isHeld && parseKubernetesVersion(desired)?.patch === undefined)
    throw invalidField("force", "not_incremental", `must come with the full version in ${field}, as 1.35.1`);
  if (isNamed && isHeld) return composeForce(desired, force.reason);
  const message = `must come with a new version in ${field}: nothing else is forced`;
  throw invalidField("force", "not_incremental", message);
}

/** Why a cluster with this spec is not upgraded; undefined = it is. */
function findBlocked(
  spec: ClusterSpec,
  version: string,
  upgrade: CheckedUpgrade,
): { message: string; details: ErrorDetail[] } | undefined {
  const checks = findChecks(upgrade, version);
  const blocking = "unknown" in checks ? [] : checks.filter(isBlocking);
  if (!isEnforced(spec) || upgrade.force !== undefined || blocking.length === 0) return undefined;
  return {
    message: toRestWords(describeBlockedUpgrade(version, blocking)),
    details: blocking.map((check) => ({
      field: upgrade.field,
      code: "upgrade_blocked",
      message: describeCheck(check),
    })),
  };
}

/** Reasons for which a network rule waits for the class of the cluster or for the platform: the cluster does not use it. */
const RULE_WAITS: readonly string[] = ["UnsupportedByClass", "AuthorizedCIDRsUnavailable"];

/**
 * What a cluster uses and the class that new clusters with its plan get is known not to have: an upgrade brings that class where it
 * is another one. Empty = nothing.
 */
export function findUnsupportedByClass(
  { object: { spec, status } }: Pick<ProjectedCluster, "object">,
  capabilities: PlanCapabilities | undefined,
  field: RequestedUpgrade["field"],
): ErrorDetail[] {
  const next = capabilities?.class;
  if (typeof next !== "string" || status?.clusterClass === undefined || status.clusterClass === next)
    return [];
  const waits = (rule: keyof NonNullable<ClusterSpec["network"]>) =>
    status.unapplied?.some(
      ({ field, reason }) => field === `network.${rule}` && RULE_WAITS.includes(reason),
    ) === true;
  const { authorizedCIDRs = [], apiServerRateLimit } = spec.network ?? {};
  const lacks = [
    ...(authorizedCIDRs.length > 0 && !waits("authorizedCIDRs")
      ? findUnsupportedCidrs(authorizedCIDRs, capabilities)
      : []),
    ...(apiServerRateLimit === undefined || waits("apiServerRateLimit")
      ? []
      : findUnsupported("api_server_rate_limit", capabilities?.apiServerRateLimit)),
    ...(spec.publicEndpoint ? [] : findUnsupported("public_endpoint", capabilities?.privateEndpoint)),
  ];
  return lacks.map((lack) => ({
    field,
    code: "unsupported",
    message: `would bring the cluster class ${next}, which lacks what the cluster uses: ${lack.field} ${lack.message}`,
  }));
}

/** Throws 409 upgrade_blocked, and 409 conflict for a version whose checks were not read. */
export function requireUnblocked(
  spec: ClusterSpec,
  version: string | undefined,
  upgrade: CheckedUpgrade,
): void {
  if (version === undefined) return;
  if (isEnforced(spec) && upgrade.version !== version)
    throw new ApiError(
      "conflict",
      "The cluster was changed while its checks were read; send the request again.",
    );
  const blocked = findBlocked(spec, version, upgrade);
  if (blocked !== undefined)
    throw new ApiError("upgrade_blocked", blocked.message, { details: blocked.details });
}

/** What a dry run says of an upgrade that would be refused. */
export function findBlockWarnings(
  spec: ClusterSpec,
  version: string | undefined,
  upgrade: CheckedUpgrade | undefined,
): ErrorDetail[] {
  const blocked = version !== undefined && upgrade !== undefined && findBlocked(spec, version, upgrade);
  return blocked ? [{ field: upgrade.field, code: "upgrade_blocked", message: blocked.message }] : [];
}
