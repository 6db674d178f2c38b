import { QUOTA_NAMES, type QuotaName } from "../../shared/crd/quota.ts";
import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Author } from "../http/authentication/principal.ts";
import { type Quotas, updateQuotas } from "../organizations/index.ts";
import { presentLimits } from "./present.ts";
import type { QuotaOwner } from "./store.ts";

/** Limits to set; null is the default, `undefined` leaves one unchanged. */
export type QuotaChange = { [Name in QuotaName]?: number | null | undefined };

/**
 * Sets limits of a locked organization, which the operator reads from the organization's Namespace. A limit below what is in
 * use stops nothing that runs: it only refuses growth.
 */
export async function setQuotas(
  tx: Queryable,
  author: Author,
  { before, ...owner }: QuotaOwner & { before: Quotas },
  change: QuotaChange,
): Promise<Quotas> {
  const { orgId } = owner;
  const limits = { ...before.configured };
  for (const name of QUOTA_NAMES) limits[name] = change[name] === undefined ? limits[name] : change[name];
  const after = await updateQuotas(tx, owner, { configured: limits, version: before.version + 1 });
  await recordAudit(tx, author, {
    action: "organization.set_quotas",
    orgId,
    target: { kind: "organization", id: orgId },
    before: presentLimits(before.configured),
    after: presentLimits(limits),
    result: "done",
  });
  return after;
}
