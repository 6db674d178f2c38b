import { clusterAccessKind, hasAccessWord } from "../../shared/crd/cluster-access.ts";
import type { Deps } from "../deps.ts";
import type { PeriodicJob } from "../work/periodic.ts";
import { holderOf, organizationOf } from "./holder.ts";
import { purgeEnded } from "./observe/store.ts";
import { followOffboardings } from "./offboarding/jobs.ts";
import { purgeOffboardings } from "./offboarding/store.ts";
import { runRevocations } from "./revocations.ts";
import { findNamed, findRights } from "./rights.ts";

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
 * Revokes each access whose holder has lost the right to it: of those that REST issued, and of those by kubectl that a word of
 * the records confirmed for a person, issued or not. What was issued without a word, and organizations that are not in this
 * database, are left alone.
 */
async function sweepAccesses(deps: Deps, signal: AbortSignal): Promise<void> {
  const accesses = await deps.kube.listAll(clusterAccessKind, { signal });
  const held = accesses.flatMap((access) => {
    const { deletionTimestamp } = access.metadata;
    const orgId = organizationOf(access);
    const isTheirs =
      holderOf(access) !== undefined || (hasAccessWord(access) && findNamed(access) !== undefined);
    return isTheirs && orgId !== undefined && deletionTimestamp === undefined ? [{ access, orgId }] : [];
  });
  if (held.length === 0) return;
  const mayHold = await findRights(deps.db, held);
  for (const one of held) {
    if (mayHold(one) || signal.aborted) continue;
    const { namespace, name, uid } = one.access.metadata;
    await deps.kube.delete(clusterAccessKind, namespace, name, { uid, signal });
    const { orgId } = one;
    deps.log.info({ orgId, name }, "revoked an access whose holder has lost the right to it");
  }
}
