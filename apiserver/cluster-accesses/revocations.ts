import { clusterAccessKind } from "../../shared/crd/cluster-access.ts";
import { LABEL_API_TOKEN_ID, LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import { messageOf } from "../../shared/program/errors.ts";
import { findTargetsOf } from "../audit/index.ts";
import {
  ADMIN_KUBECONFIG_LIFETIME_DAYS,
  DOWNLOAD_ACTION,
  ensureCredentialsGeneration,
  findNextGeneration,
} from "../clusters/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Deps } from "../deps.ts";
import type { Author } from "../http/authentication/principal.ts";
import { asAuthorized } from "../http/contract/caller.ts";
import { organizationNamespace } from "../organizations/index.ts";
import { pause, repeatBatches } from "../work/loop.ts";
import { type FoundAccess, revokeIfThere, toFound } from "./accesses.ts";
import { holderOf, parseId } from "./holder.ts";
import { insertEndedRights, type NewEndedRight, setGeneration } from "./offboarding/store.ts";
import { claimRevocations, extendRevocation, insertRevocations, revocationClaims } from "./store.ts";
import type { KubeconfigRevocation } from "./table.ts";

/** How long a request waits for the revocations that it caused; the job does what is left. */
const REQUEST_WAIT_MS = 5_000;
const RETRY_SECONDS = 2;
/** The timeout of each page of a list, so that it ends before its claim does. */
const CALL_TIMEOUT_MS = 5_000;
const BATCH = 20;

/** Who has lost the right to kubeconfigs of an organization: a person, or an API token by its end or its rotation. */
export type FormerHolder =
  | { userId: string; memberId?: string }
  | { tokenId: string; tokenVersion: number; how: "revoked" | "rotated" };

/**
 * Has every kubeconfig of a holder revoked, in the transaction that ends the right to them and under the organization's
 * row lock: its own ones, and the admin kubeconfigs that it downloaded and that have not expired. A token rotation does
 * not revoke the latter: the holder of the token keeps them.
 */
export async function requestRevocation(
  tx: Queryable,
  author: Author,
  orgId: string,
  holder: FormerHolder,
): Promise<void> {
  if ("userId" in holder) {
    const clusterIds = await findDownloads(tx, orgId, { userId: holder.userId });
    const { userId, memberId } = holder;
    await insertRevocations(tx, orgId, author, [{ userId }, ...clusterIds], memberId);
    if (memberId === undefined) return;
    const rights = clusterIds.map(
      ({ clusterId }): NewEndedRight => ({ kind: "admin_credentials", targetId: clusterId, clusterId }),
    );
    await insertEndedRights(tx, orgId, memberId, rights);
    return;
  }
  const { tokenId, tokenVersion, how } = holder;
  const clusterIds = how === "revoked" ? await findDownloads(tx, orgId, { tokenId }) : [];
  await insertRevocations(tx, orgId, author, [{ tokenId, tokenVersion }, ...clusterIds]);
}

async function findDownloads(
  tx: Queryable,
  orgId: string,
  actor: { userId: string } | { tokenId: string },
): Promise<{ clusterId: string }[]> {
  const downloads = { action: DOWNLOAD_ACTION, actor, withinDays: ADMIN_KUBECONFIG_LIFETIME_DAYS };
  const clusterIds = await findTargetsOf(tx, orgId, downloads);
  return clusterIds.map((clusterId) => ({ clusterId }));
}

/**
 * Revokes what is pending in an organization, after the commit that requested it. Waits 5 s at most, in which the request keeps
 * its slot, for these writes take none; and does not throw: the job does what is left.
 */
export async function revokePending(deps: Deps, orgId: string): Promise<void> {
  const work = runRevocations(deps, { orgId }).catch((error: unknown) => logFailure(deps, { orgId }, error));
  const waited = new AbortController();
  await Promise.race([work.finally(() => waited.abort()), pause(REQUEST_WAIT_MS, waited.signal)]);
}

/** Completes pending revocations, each as often as it takes: those of one organization, or all. */
export async function runRevocations(
  deps: Deps,
  { orgId, signal }: { orgId?: string; signal?: AbortSignal } = {},
): Promise<void> {
  await repeatBatches(BATCH, signal, async () => {
    const claimed = await claimRevocations(deps.db, { orgId, limit: BATCH });
    await Promise.all(claimed.map((revocation) => revokeOrLog(deps, revocation)));
    return claimed.length;
  });
}

async function revokeOrLog(deps: Deps, revocation: KubeconfigRevocation): Promise<void> {
  const { id, orgId, clusterId } = revocation;
  try {
    if (clusterId === null) await deleteAccesses(deps, revocation);
    else await rotate(deps, revocation, clusterId);
    await requireClaim(revocationClaims.remove(deps.db, revocation));
  } catch (error) {
    logFailure(deps, { orgId, clusterId, revocation: id }, error);
    await revocationClaims.postpone(deps.db, revocation, RETRY_SECONDS);
  }
}

/** Rejects when the revocation is not this process's own any more. */
async function requireClaim(isHeld: Promise<boolean>): Promise<void> {
  if (!(await isHeld)) throw new Error("the revocation took longer than its claim; another process does it");
}

async function rotate(deps: Deps, revocation: KubeconfigRevocation, clusterId: string): Promise<void> {
  const { orgId, author, memberId } = revocation;
  // Noted before the write: after a crash the same generation is asked for, not one more.
  const generation = revocation.generation ?? (await findNextGeneration(deps, orgId, clusterId));
  if (generation === undefined) return;
  await requireClaim(extendRevocation(deps.db, revocation, { generation }));
  await ensureCredentialsGeneration(deps, author, { orgId, clusterId, generation });
  if (memberId !== null) await setGeneration(deps.db, orgId, { memberId, clusterId, generation });
}

async function deleteAccesses(deps: Deps, revocation: KubeconfigRevocation): Promise<void> {
  const { orgId, author, userId, tokenId, tokenVersion, memberId } = revocation;
  const namespace = organizationNamespace(orgId);
  const accesses = await deps.kube.listAll(clusterAccessKind, {
    namespace,
    ...(tokenId === null ? {} : { labelSelector: `${LABEL_API_TOKEN_ID}=${tokenId}` }),
    timeoutMs: CALL_TIMEOUT_MS,
  });
  const ended = accesses.filter((access) => {
    const holder = holderOf(access);
    return tokenVersion === null ? holder?.userId === userId : (holder?.tokenVersion ?? 0) < tokenVersion;
  });
  const revoked = ended.flatMap((access) => {
    const found = toFound(access);
    // What has no id here, or a malformed one, is left to the job that sweeps.
    const clusterId = parseId(access.metadata.labels?.[LABEL_CLUSTER_ID]);
    return found === undefined || clusterId === undefined ? [] : [{ found, clusterId }];
  });
  if (memberId !== null) await insertEndedRights(deps.db, orgId, memberId, revoked.map(toEndedRight));
  for (const { found, clusterId } of revoked) {
    await requireClaim(extendRevocation(deps.db, revocation));
    await revokeIfThere(deps, asAuthorized(author), { orgId, id: clusterId }, found);
  }
}

function toEndedRight({ found, clusterId }: { found: FoundAccess; clusterId: string }): NewEndedRight {
  const { id: targetId, name: objectName, uid: objectUid } = found;
  return { kind: "cluster_access", targetId, clusterId, objectName, objectUid };
}

function logFailure({ log }: Pick<Deps, "log">, what: object, error: unknown): void {
  const message = messageOf(error);
  log.warn({ ...what, message }, "kubeconfigs are not revoked yet; it is tried again");
}
