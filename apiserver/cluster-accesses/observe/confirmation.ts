import {
  type ClusterAccess,
  clusterAccessKind,
  composeAccessConfirmation,
  confirmationOf,
} from "../../../shared/crd/cluster-access.ts";
import type { ConfirmationResult } from "../../../shared/crd/identity.ts";
import {
  ANNOTATION_IDENTITY,
  LABEL_ORG_ID,
  LABEL_USER_ID,
  MANAGER_APISERVER,
} from "../../../shared/crd/names.ts";
import { namespaceKind } from "../../../shared/kube/core-kinds.ts";
import { KubeError } from "../../../shared/kube/errors.ts";
import { isAudited } from "../../audit/index.ts";
import type { Deps } from "../../deps.ts";
import { idSchema } from "../../http/contract/validate.ts";
import { findKnownOrganizations } from "../../organizations/index.ts";
import { findRights, holderOf, parseId } from "../holder.ts";
import { accessIdOf } from "../present.ts";
import { findRecorded, listUnended, type RecordedAccess } from "./store.ts";

/** What the records know of an access that waits for their confirmation. */
export interface KnownOfAccess {
  orgId: string;
  /** An access of the same id that was seen before; undefined where there is none, or no id. */
  recorded: RecordedAccess | undefined;
  /** An access of this id was revoked. */
  isRevoked: boolean;
  /** Whom it names is a member with the right to clusters. */
  mayHold: boolean;
}

/** Whether an access must not be recorded: its confirmation is due, or it is refused. */
export function lacksConfirmation(access: ClusterAccess): boolean {
  return confirmationOf(access) !== "confirmed";
}

/**
 * What may be issued: to a member, and of what came with an id, as from a backup, only what was there before in the same place
 * and has neither expired nor been revoked. An access of a user has the labels of that user and the organization.
 */
export function decideAccessConfirmation(
  access: ClusterAccess,
  known: KnownOfAccess,
  now: Date,
): ConfirmationResult {
  const { metadata, spec } = access;
  const { orgId, recorded, isRevoked, mayHold } = known;
  if (!mayHold) return "refused";
  const holder = holderOf(access);
  const [userId, labelled] = [LABEL_USER_ID, LABEL_ORG_ID].map((label) => parseId(metadata.labels?.[label]));
  if (holder !== undefined && (userId !== holder.userId || labelled !== orgId)) return "refused";
  if (accessIdOf(access) === undefined) return "known";
  if (recorded === undefined || isRevoked || recorded.expiresAt <= now) return "refused";
  const isSamePlace =
    recorded.namespace === metadata.namespace &&
    recorded.clusterName === spec.clusterName &&
    recorded.subject === spec.subject;
  return isSamePlace ? "known" : "refused";
}

/**
 * Writes on an access what the records say of it. One that has changed meanwhile comes again. Returns whether nothing is left to
 * do: false while it is open how an earlier access of its id has ended.
 */
export async function writeAccessConfirmation(deps: Deps, access: ClusterAccess): Promise<boolean> {
  if (confirmationOf(access) === "refused" || access.metadata.deletionTimestamp !== undefined) return true;
  const { db, kube, log } = deps;
  const { namespace = "", name, resourceVersion } = access.metadata;
  const place = await kube.get(namespaceKind, undefined, namespace);
  const organization = idSchema.safeParse(place?.metadata.labels?.[LABEL_ORG_ID]);
  if (!organization.success) return true;
  const orgId = organization.data;
  if (!(await findKnownOrganizations(db, [orgId])).has(orgId)) return true;
  if (await isEndOpen(deps, access, orgId)) return false;
  const known = await readKnown(deps, access, orgId);
  const result = decideAccessConfirmation(access, known, deps.now());
  const value = result === "refused" ? result : composeAccessConfirmation(access, known.recorded?.expiresAt);
  const patch = { metadata: { resourceVersion, annotations: { [ANNOTATION_IDENTITY]: value } } };
  try {
    await kube.mergePatch(clusterAccessKind, namespace, name, patch, { fieldManager: MANAGER_APISERVER });
  } catch (error) {
    if (!(error instanceof KubeError && (error.isConflict || error.isNotFound))) throw error;
    return true;
  }
  if (result === "refused") log.warn({ orgId, name }, "an access of no member, or one that has ended");
  return true;
}

/** Whether an earlier access of the same id is gone, and its end is not recorded yet. */
async function isEndOpen({ db, kube }: Deps, access: ClusterAccess, orgId: string): Promise<boolean> {
  const id = idSchema.safeParse(accessIdOf(access));
  if (!id.success) return false;
  for (const { uid, namespace, name } of await listUnended(db, { orgId, id: id.data })) {
    if (uid === access.metadata.uid) continue;
    const live = await kube.get(clusterAccessKind, namespace, name);
    if (live?.metadata.uid !== uid || live.metadata.deletionTimestamp !== undefined) return true;
  }
  return false;
}

async function readKnown(
  { db }: Pick<Deps, "db">,
  access: ClusterAccess,
  orgId: string,
): Promise<KnownOfAccess> {
  const held = { access, orgId };
  const id = idSchema.safeParse(accessIdOf(access));
  const [mayHold, recorded, isRevoked] = await Promise.all([
    findRights(db, [held]).then((has) => has(held)),
    id.success ? findRecorded(db, orgId, id.data) : undefined,
    id.success && isAudited(db, { orgId, targetId: id.data, action: "cluster_access.revoke" }),
  ]);
  return { orgId, recorded, isRevoked, mayHold };
}
