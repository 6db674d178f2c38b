import { isEnforced } from "../../../shared/crd/upgrade-checks.ts";
import type { KubeClient } from "../../../shared/kube/client.ts";
import type { Membership } from "../../http/authorization/permissions.ts";
import type { ProjectedCluster } from "../../resources/project/index.ts";
import type { ClusterMerge } from "../merge-update.ts";
import { presentTo, readChecks, readerFor, type TenantReader } from "../tenant-reader.ts";
import {
  CHANGED,
  type CheckedUpgrade,
  findChecks,
  findNewVersion,
  type RequestedUpgrade,
  type UpgradeChecks,
} from "../upgrade-decision.ts";
import { readLiveCluster } from "../write.ts";

/**
 * Reads in the cluster what an upgrade finds, for at most 5 s. Where checks are enforced they are read for every caller: the
 * caller is shown the blocking ones alone, as the condition of the cluster shows them.
 */
export async function checkUpgrade(
  kube: Pick<KubeClient, "get">,
  tenants: TenantReader,
  membership: Pick<Membership, "rights">,
  known: ProjectedCluster,
  merge: (current: ProjectedCluster) => ClusterMerge,
  requested: RequestedUpgrade,
): Promise<CheckedUpgrade> {
  if (requested.target === undefined) return { ...requested, version: undefined, checks: CHANGED };
  const cluster = await readLiveCluster(kube, known);
  const merged = merge(cluster);
  const { version: desired, ...settings } = merged.outcome === "patch" ? merged.patch : {};
  const version = findNewVersion(cluster, desired);
  if (version === undefined || !membership.rights.has("clusters:upgrade"))
    return { ...requested, version: undefined, checks: CHANGED };
  const reader = isEnforced({ ...cluster.object.spec, ...settings })
    ? tenants
    : readerFor(tenants, membership);
  return { ...requested, version, checks: (await readChecks(reader, cluster, [version]))(version) };
}

/** What the upgrade to this version finds; nothing without a version. */
export function presentChecks<Name extends string>(
  name: Name,
  membership: Pick<Membership, "rights">,
  upgrade: CheckedUpgrade,
  version: string | undefined,
): Partial<Record<Name, UpgradeChecks>> {
  if (version === undefined) return {};
  const shown = { [name]: presentTo(membership, findChecks(upgrade, version)) };
  return shown as Record<Name, UpgradeChecks>;
}
