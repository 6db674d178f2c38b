import { eq, sql } from "drizzle-orm";
import { QUOTA_NAMES, type QuotaName } from "../../shared/crd/quota.ts";
import { recordAudit } from "../audit/store.ts";
import type { Deps } from "../deps.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { requireMatch, versionTag } from "../http/contract/etag.ts";
import { ensureNamespace } from "./namespace.ts";
import { presentLimits } from "./quota-schema.ts";
import { type Quotas, readQuotas } from "./read-quotas.ts";
import { lockOrganization } from "./store.ts";
import { organizationQuotas, organizations } from "./table.ts";

const PUBLISH_TIMEOUT_MS = 2_000;

export type QuotaChange = { [Name in QuotaName]?: number | null | undefined };

/**
 * Sets some limits of an organization, or (null) sets them back to the default, and publishes them on its Namespace
 * for the operator. A limit below what is in use stops nothing that runs: it only refuses growth. Throws 404, 412.
 */
export async function changeQuotas(
  deps: Deps,
  origin: Origin,
  target: { orgId: string; ifMatch: string | undefined },
  change: QuotaChange,
): Promise<Quotas> {
  const { orgId, ifMatch } = target;
  const { quotas: defaults } = deps.config;
  const after = await deps.db.transaction(async (tx) => {
    await lockOrganization(tx, orgId);
    const before = await readQuotas(tx, defaults, orgId);
    requireMatch(ifMatch, versionTag(before.version));
    const wanted = Object.fromEntries(
      QUOTA_NAMES.map((name) => [name, change[name] === undefined ? before.configured[name] : change[name]]),
    );
    const values = { ...wanted, version: before.version + 1, updatedAt: sql`now()` };
    await tx
      .insert(organizationQuotas)
      .values({ orgId, ...values })
      .onConflictDoUpdate({ target: organizationQuotas.orgId, set: values });
    // Has the Namespace looked at again, until it says so too.
    await tx.update(organizations).set({ namespaceReadyAt: null }).where(eq(organizations.id, orgId));
    const changed = await readQuotas(tx, defaults, orgId);
    await recordAudit(tx, origin, {
      action: "organization.set_quotas",
      orgId,
      target: { kind: "organization", id: orgId },
      before: presentLimits(before.configured),
      after: presentLimits(changed.configured),
      result: "done",
    });
    return changed;
  });
  await publish(deps, orgId);
  return after;
}

/** At once when it can be; else the periodic job does. */
async function publish(deps: Deps, orgId: string): Promise<void> {
  try {
    await ensureNamespace(deps, orgId, { timeoutMs: PUBLISH_TIMEOUT_MS });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    deps.log.warn({ orgId, message }, "new quotas are published late");
  }
}
