import { QUOTA_NAMES, type QuotaAmounts, type QuotaName } from "../../shared/crd/quota.ts";
import { recordAudit } from "../audit/index.ts";
import type { Queryable } from "../db/client.ts";
import type { Origin } from "../http/authentication/principal.ts";
import { type Preconditions, requireMatch, versionTag } from "../http/contract/etag.ts";
import {
  lockOrganization,
  markNamespaceStale,
  type Quotas,
  readQuotas,
  upsertQuotas,
} from "../organizations/index.ts";
import { presentLimits } from "./present.ts";

/** Limits to set; null is the default, `undefined` leaves one unchanged. */
export type QuotaChange = { [Name in QuotaName]?: number | null | undefined };

/**
 * Sets limits of an organization, which the operator reads from the organization's Namespace. A limit below what is in
 * use stops nothing that runs: it only refuses growth. Throws 404, 412.
 */
export async function setQuotas(
  tx: Queryable,
  origin: Origin,
  {
    orgId,
    preconditions,
    defaults,
  }: { orgId: string; preconditions: Preconditions | undefined; defaults: QuotaAmounts },
  change: QuotaChange,
): Promise<Quotas> {
  await lockOrganization(tx, orgId);
  const before = await readQuotas(tx, orgId, defaults);
  requireMatch(preconditions, versionTag(before.version));
  const limits = { ...before.configured };
  for (const name of QUOTA_NAMES) limits[name] = change[name] === undefined ? limits[name] : change[name];
  await upsertQuotas(tx, orgId, { ...limits, version: before.version + 1 });
  await markNamespaceStale(tx, orgId);
  await recordAudit(tx, origin, {
    action: "organization.set_quotas",
    orgId,
    target: { kind: "organization", id: orgId },
    before: presentLimits(before.configured),
    after: presentLimits(limits),
    result: "done",
  });
  return readQuotas(tx, orgId, defaults);
}
