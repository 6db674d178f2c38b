import { recordAudit } from "../../audit/index.ts";
import { toActor } from "../../audit/record.ts";
import type { Queryable } from "../../db/client.ts";
import type { Origin } from "../../http/authentication/principal.ts";
import { invalidField, notFound } from "../../http/errors.ts";
import { markAllDue } from "../budgets/due-store.ts";
import { effectiveAfter } from "../month.ts";
import { auditPackage } from "./present.ts";
import {
  insertPackageTerms,
  lockPackages,
  type Package,
  type PackageTerms,
  readPackage,
  readPackages,
  sharePackages,
} from "./store.ts";

export interface PackageUpdate {
  slug: string;
  terms: Package;
  /** The terms in force, as read under their lock. */
  before: PackageTerms;
  now: () => Date;
}

/** The terms in force; those of all packages are locked until the transaction ends. Throws 404. */
export async function lockPackage(tx: Queryable, slug: string): Promise<PackageTerms> {
  await lockPackages(tx);
  return requirePackage(tx, slug);
}

/** Sets the terms of a package from now on; changes follow each other. */
export async function setPackage(
  tx: Queryable,
  origin: Origin,
  { slug, terms, before, now }: PackageUpdate,
): Promise<PackageTerms> {
  const effectiveFrom = effectiveAfter(before.effectiveFrom, now());
  await insertPackageTerms(tx, { slug, ...terms, effectiveFrom, changedBy: toActor(origin) });
  await markAllDue(tx, now());
  await recordAudit(tx, origin, {
    action: "plan.update",
    orgId: null,
    target: { kind: "plan", id: slug },
    before: auditPackage(before),
    after: auditPackage(terms),
    result: "done",
  });
  return requirePackage(tx, slug);
}

/** The terms in force. Throws 404. */
export async function requirePackage(db: Queryable, slug: string): Promise<PackageTerms> {
  const found = await readPackage(db, slug);
  if (found === undefined) throw notFound("plan");
  return found;
}

/**
 * Until the end of the transaction the package is one that a new cluster can have. Throws 422 for one that is unknown or
 * retired.
 */
export async function requireOffered(tx: Queryable, slug: string): Promise<void> {
  await sharePackages(tx);
  const offered = (await readPackages(tx)).filter(({ retired }) => !retired).map((one) => one.slug);
  if (offered.includes(slug)) return;
  const choice =
    offered.length === 0
      ? "must be left out: no plan is on offer"
      : `must be ${offered.join(", ")} or left out`;
  throw invalidField("plan", "invalid_enum", choice);
}
