import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_USER_ID } from "../../shared/crd/names.ts";
import { findTokenVersions } from "../api-tokens/index.ts";
import type { Deps } from "../deps.ts";
import { hasPermission } from "../http/authorization/permissions.ts";
import { listRoles } from "../members/index.ts";
import { findKnownOrganizations } from "../organizations/index.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { type Holder, holderOf } from "./holder.ts";
import { purgeEnded } from "./observe/store.ts";
import { followOffboardings } from "./offboarding/jobs.ts";
import { purgeOffboardings } from "./offboarding/store.ts";
import { runRevocations } from "./revocations.ts";

const SWEEP_EVERY_MS = 30_000;
const PENDING_EVERY_MS = 2_000;
const PURGE_EVERY_MS = 3_600_000;
const FOLLOW_EVERY_MS = 5_000;

/** The jobs that revoke the kubeconfigs of members and tokens that have lost the right to them. */
export function clusterAccessJobs(deps: Deps): PeriodicJob[] {
  return [
    {
      name: "kubeconfig-revocations",
      everyMs: PENDING_EVERY_MS,
      run: (signal) => runRevocations(deps, { signal }),
    },
    { name: "purge-observed-accesses", everyMs: PURGE_EVERY_MS, run: () => purgeEnded(deps.db) },
    { name: "offboardings", everyMs: FOLLOW_EVERY_MS, run: (signal) => followOffboardings(deps, signal) },
    { name: "purge-offboardings", everyMs: PURGE_EVERY_MS, run: () => purgeOffboardings(deps.db) },
    { name: "cluster-accesses", everyMs: SWEEP_EVERY_MS, run: (signal) => sweepAccesses(deps, signal) },
  ];
}

/**
 * Compares every access that REST issued with the current members. Accesses that the platform's staff created by
 * kubectl have no such labels and are left alone, and so are those of an organization that is not in this database.
 */
async function sweepAccesses(deps: Deps, signal: AbortSignal): Promise<void> {
  const accesses = await deps.kube.listAll(clusterAccessKind, { labelSelector: LABEL_USER_ID, signal });
  const held = accesses.flatMap((access) => {
    const holder = holderOf(access);
    const isDeleting = access.metadata.deletionTimestamp !== undefined;
    return holder === undefined || isDeleting ? [] : [{ access, holder }];
  });
  if (held.length === 0) return;
  const mayHold = await findRights(
    deps,
    held.map(({ holder }) => holder),
  );
  for (const { access, holder } of held) {
    if (mayHold(holder) || signal.aborted) continue;
    const { namespace, name, uid } = access.metadata;
    await deps.kube.delete(clusterAccessKind, namespace, name, { uid, signal });
    deps.log.info({ ...holder, name }, "revoked an access whose holder has lost the right to it");
  }
}

async function findRights(deps: Deps, holders: readonly Holder[]): Promise<(holder: Holder) => boolean> {
  const [organizations, roles, tokenVersions] = await Promise.all([
    findKnownOrganizations(
      deps.db,
      holders.map(({ orgId }) => orgId),
    ),
    listRoles(
      deps.db,
      holders.map(({ userId }) => userId),
    ),
    findTokenVersions(
      deps.db,
      holders.flatMap(({ tokenId }) => tokenId ?? []),
    ),
  ]);
  return ({ orgId, userId, tokenId, tokenVersion }) => {
    if (!organizations.has(orgId)) return true;
    const role = roles.find((one) => one.orgId === orgId && one.userId === userId)?.role;
    if (role === undefined || !hasPermission(role, "clusters:access")) return false;
    return tokenId === undefined || tokenVersions.get(tokenId) === tokenVersion;
  };
}
