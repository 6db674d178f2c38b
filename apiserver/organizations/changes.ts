import { isDeepStrictEqual } from "node:util";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { readProtectedLabel } from "../../shared/crd/fields.ts";
import { LABEL_PROTECTED } from "../../shared/crd/names.ts";
import { type NodePool, nodePoolKind } from "../../shared/crd/node-pool.ts";
import { namespaceKind } from "../../shared/kube/core-kinds.ts";
import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import { sendTogether } from "../db/statement.ts";
import type { Deps } from "../deps.ts";
import type { Author } from "../http/authentication/principal.ts";
import { type Caller, transactAs } from "../http/contract/caller.ts";
import { type Preconditions, requireMatch, versionTag } from "../http/contract/etag.ts";
import { isVatId, slugOf } from "../http/contract/fields.ts";
import { ApiError, invalidField } from "../http/errors.ts";
import { requireUnprotected } from "../resources/write/index.ts";
import { endNamespaceSoon, organizationNamespace } from "./namespace.ts";
import { auditOrganization } from "./present.ts";
import { MAX_SLUG_LENGTH, MIN_SLUG_LENGTH, VAT_ID_MESSAGE } from "./schema.ts";
import {
  beginDeletion,
  cancelDeletion,
  insertOrganization,
  markDeleted,
  type NewOrganization,
  type OrganizationChange,
  requireOrganization,
  slugTaken,
  updateSettings,
} from "./store.ts";
import type { OrganizationRow } from "./table.ts";

/**
 * Creates an organization. Without a slug, one is derived from the name that no other organization has. Throws 409
 * already_exists for a taken slug.
 */
export async function createOrganization(
  tx: Queryable,
  author: Author,
  input: Omit<NewOrganization, "slug" | "createdBy"> & { slug: string | undefined },
): Promise<OrganizationRow> {
  const { id, name } = input;
  const slugs = input.slug === undefined ? proposeSlugs(name, id) : [input.slug];
  for (const slug of slugs) {
    const organization = await insertOrganization(tx, { ...input, slug, createdBy: author.principal.userId });
    if (organization === undefined) continue;
    await recordAudit(tx, author, {
      action: "organization.create",
      orgId: id,
      target: { kind: "organization", id },
      after: auditOrganization(organization),
      result: "done",
    });
    return organization;
  }
  throw slugTaken(slugs.at(-1) ?? "");
}

const SETTINGS = ["name", "slug", "billingEmail", "vatId", "labels"] as const;

/** The settings that a change would really change: sending back what was read changes none. */
export function findChangedSettings(before: OrganizationRow, change: OrganizationChange) {
  return SETTINGS.filter(
    (name) => change[name] !== undefined && !isDeepStrictEqual(change[name], before[name]),
  );
}

function applyChange(before: OrganizationRow, change: OrganizationChange): OrganizationRow {
  const { name = before.name, slug = before.slug } = change;
  const { billingEmail = before.billingEmail, vatId = before.vatId, labels = before.labels } = change;
  return { ...before, name, slug, billingEmail, vatId, labels };
}

/** Throws 422 for a changed VAT id that has the form of no country; undefined and null are none. */
export function requireVatId(before: string | null, after: string | null | undefined): void {
  if (after === undefined || after === null || after === before || isVatId(after)) return;
  throw invalidField("vat_id", "invalid_format", VAT_ID_MESSAGE);
}

/** Changes settings of a locked organization. Throws 409 already_exists for a taken slug. */
export async function updateOrganization(
  tx: Queryable,
  author: Author,
  before: OrganizationRow,
  change: OrganizationChange,
): Promise<OrganizationRow> {
  const wanted = applyChange(before, change);
  const [after] = await sendTogether(
    updateSettings(tx, before.id, wanted),
    recordAudit(tx, author, {
      action: "organization.update",
      orgId: before.id,
      target: { kind: "organization", id: before.id },
      before: auditOrganization(before),
      after: auditOrganization(wanted),
      result: "done",
    }),
  );
  return after;
}

/** Far below the lease of a deletion, which must not end before what is in the organization is read. */
const READ_TIMEOUT_MS = 10_000;

interface DeletionOptions {
  orgId: string;
  preconditions: Preconditions | undefined;
  dryRun?: boolean;
}

export interface DeletionHooks {
  /** Whether a cluster or a node pool is being created that the Kubernetes API does not list yet. */
  hasPendingCreates(tx: Queryable, orgId: string): Promise<boolean>;
  /** Whether the organization has container images. Throws 503 when that needs a registry that cannot be used. */
  hasImages(orgId: string): Promise<boolean>;
  /** Runs in the transaction that marks the organization as deleted. */
  onDelete(tx: Queryable, author: Author, orgId: string): Promise<void>;
}

/**
 * Deletes an organization that has neither clusters nor images; a dry run makes every check alone. First it is closed to changes, under the row lock that every change
 * inside it takes too; then the Kubernetes API is asked for one of its clusters; then it is marked as deleted, so that invoices and audit log
 * remain. Throws 409 deletion_protected and organization_not_empty, 412, and 503 without the Kubernetes API; it is open to changes again then.
 * Throws 409 conflict when that took until it was open to changes again: something may have been created in it since.
 */
export async function deleteOrganization(
  deps: Deps,
  caller: Caller,
  hooks: DeletionHooks,
  { orgId, preconditions, dryRun = false }: DeletionOptions,
): Promise<void> {
  const { author } = caller;
  const deletingAt = await transactAs(deps.db, caller, async (tx) => {
    // Locked by the confirmation of the caller's right.
    const { version } = await requireOrganization(tx, orgId);
    requireMatch(preconditions, versionTag(version));
    if (await hooks.hasPendingCreates(tx, orgId)) throw notEmpty("clusters");
    return dryRun ? undefined : beginDeletion(tx, orgId);
  });
  try {
    await requireEmpty(deps, orgId);
    if (await hooks.hasImages(orgId)) throw notEmpty("repositories");
  } catch (error) {
    if (deletingAt !== undefined) await cancelDeletion(deps.db, orgId, deletingAt);
    throw error;
  }
  if (deletingAt === undefined) return;
  await deps.db.transaction(async (tx) => {
    const organization = await markDeleted(tx, orgId, deletingAt);
    if (organization === undefined)
      throw new ApiError(
        "conflict",
        "The deletion took too long, or another request deletes the organization.",
        {
          retryAfterSeconds: 5,
        },
      );
    await hooks.onDelete(tx, author, orgId);
    await recordAudit(tx, author, {
      action: "organization.delete",
      orgId,
      target: { kind: "organization", id: orgId },
      before: auditOrganization(organization),
      result: "done",
    });
  });
  await endNamespaceSoon(deps, orgId);
}

/**
 * Throws 409 deletion_protected for the protected object that the Namespace names, else 409 organization_not_empty while there
 * is a cluster or a node pool. However many there are, one of each is read.
 */
async function requireEmpty({ kube }: Deps, orgId: string): Promise<void> {
  const namespace = organizationNamespace(orgId);
  const options = { timeoutMs: READ_TIMEOUT_MS };
  const one = { ...options, namespace, limit: 1 };
  const [place, clusters, nodePools] = await Promise.all([
    kube.get(namespaceKind, undefined, namespace, options),
    kube.list(clusterKind, one),
    kube.list(nodePoolKind, one),
  ]);
  const label = place?.metadata.labels?.[LABEL_PROTECTED];
  if (label !== undefined) {
    const { noun, name } = readProtectedLabel(label);
    const object: Cluster | NodePool | undefined =
      noun === "cluster"
        ? await kube.get(clusterKind, namespace, name, options)
        : await kube.get(nodePoolKind, namespace, name, options);
    if (object !== undefined)
      requireUnprotected({ object, displayName: object.spec.displayName ?? name }, noun);
  }
  if (clusters.items.length + nodePools.items.length > 0) throw notEmpty("clusters");
}

function notEmpty(what: "clusters" | "repositories"): ApiError {
  return new ApiError("organization_not_empty", `Delete the organization's ${what} first.`);
}

/**
 * Derives a slug from a name, 3 to 40 characters. A name without Latin letters or digits (`日本`) gives `org-` and the
 * end of the id.
 */
export function toSlug(name: string, id: string): string {
  const slug = slugOf(name, MAX_SLUG_LENGTH);
  return slug.length >= MIN_SLUG_LENGTH ? slug : `org-${id.slice(-12)}`;
}

/** `toSlug` with the last 6 or 12 hexadecimal digits of the id, within 40 characters. */
function toDistinctSlug(name: string, id: string, digits: 6 | 12): string {
  return `${toSlug(name, id)
    .slice(0, MAX_SLUG_LENGTH - digits - 1)
    .replace(/-$/, "")}-${id.slice(-digits)}`;
}

/**
 * The slugs for a name, the first that is free is taken. Of 5,000 organizations of one name, two have the same 6 digits
 * with a probability of 1 in 2, the same 12 with 1 in 22 million.
 */
export function proposeSlugs(name: string, id: string): string[] {
  return [toSlug(name, id), toDistinctSlug(name, id, 6), toDistinctSlug(name, id, 12)];
}
