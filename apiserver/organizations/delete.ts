import { and, eq, sql } from "drizzle-orm";
import { clusterKind } from "../../shared/crd/cluster.ts";
import { nodePoolKind } from "../../shared/crd/node-pool.ts";
import { revokeTokensOf } from "../api-tokens/store.ts";
import { recordAudit } from "../audit/store.ts";
import { hasPendingCreates } from "../clusters/store.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { requireMatch, versionTag } from "../http/contract/etag.ts";
import { ApiError } from "../http/errors.ts";
import { organizationNamespace } from "./namespace.ts";
import { presentAudit } from "./schema.ts";
import { lockOrganization } from "./store.ts";
import { organizations } from "./table.ts";

/** Far below the lease of a deletion: it must not end while the clusters are being looked for. */
const LOOK_TIMEOUT_MS = 10_000;

/**
 * Deletes an organization that has no cluster: shut first, under the row lock that everything made inside it takes
 * too; then looked into live; then marked as deleted, so that invoices and audit log remain. Throws 409
 * organization_not_empty, 412, and 503 when the Kubernetes API cannot be asked; then it is open again.
 */
export async function deleteOrganization(
  deps: Deps,
  origin: Origin,
  target: { orgId: string; ifMatch: string | undefined },
): Promise<void> {
  const { orgId } = target;
  const shutAt = await shut(deps, target);
  try {
    await requireEmpty(deps, orgId);
  } catch (error) {
    await deps.db.update(organizations).set({ deletingAt: null }).where(isShutSince(orgId, shutAt));
    throw error;
  }
  await finish(deps, origin, orgId, shutAt);
}

async function shut(deps: Deps, target: { orgId: string; ifMatch: string | undefined }): Promise<Date> {
  return deps.db.transaction(async (tx) => {
    const row = await lockOrganization(tx, target.orgId);
    requireMatch(target.ifMatch, versionTag(row.version));
    if (await hasPendingCreates(tx, target.orgId)) throw notEmpty();
    const [shutRow] = await tx
      .update(organizations)
      .set({ deletingAt: sql`now()` })
      .where(eq(organizations.id, target.orgId))
      .returning({ at: organizations.deletingAt });
    if (shutRow?.at == null) throw new Error("an update returned no row");
    return shutRow.at;
  });
}

async function requireEmpty({ kube }: Deps, orgId: string): Promise<void> {
  const options = { namespace: organizationNamespace(orgId), limit: 1, timeoutMs: LOOK_TIMEOUT_MS };
  const [clusters, nodePools] = await Promise.all([
    kube.list(clusterKind, options),
    kube.list(nodePoolKind, options),
  ]);
  if (clusters.items.length + nodePools.items.length > 0) throw notEmpty();
}

async function finish(deps: Deps, origin: Origin, orgId: string, shutAt: Date): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const [row] = await tx
      .update(organizations)
      .set({ deletedAt: sql`now()`, version: sql`${organizations.version} + 1` })
      .where(isShutSince(orgId, shutAt))
      .returning();
    if (row === undefined) throw new ApiError("conflict", "Another request is deleting the organization.");
    await revokeTokensOf(tx, { orgId });
    await recordAudit(tx, origin, {
      action: "organization.delete",
      orgId,
      target: { kind: "organization", id: orgId },
      before: presentAudit(row),
      result: "done",
    });
  });
}

function isShutSince(orgId: string, shutAt: Date) {
  return and(eq(organizations.id, orgId), eq(organizations.deletingAt, shutAt));
}

function notEmpty(): ApiError {
  return new ApiError("organization_not_empty", "Delete the organization's clusters first.");
}
