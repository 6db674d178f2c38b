import type { z } from "@hono/zod-openapi";
import { presentActor } from "../../audit/present.ts";
import { versionTag } from "../../http/contract/etag.ts";
import { toEuros } from "../money.ts";
import type { PackageSlug, planRecord, planTermsRecord } from "./schema.ts";
import type { Package, PackageTerms } from "./store.ts";

/** The wire form of a package as tenants see it. */
export function presentPlan(slug: PackageSlug, terms: Package): z.output<typeof planRecord> {
  const { monthly_price_eur, control_plane_replicas, includes } = auditPackage(terms);
  return { slug, monthly_price_eur, control_plane_replicas, includes };
}

/** The wire form of terms that held, or hold. */
export function presentPlanTerms(terms: PackageTerms): z.output<typeof planTermsRecord> {
  return {
    id: terms.id,
    slug: terms.slug,
    ...auditPackage(terms),
    effective_from: terms.effectiveFrom.toISOString(),
    changed_by: presentActor(terms.changedBy),
  };
}

/** The fields of a package in the audit log. */
export function auditPackage(terms: Package) {
  return {
    monthly_price_eur: toEuros(terms.priceMicroEuros),
    control_plane_replicas: terms.controlPlaneReplicas,
    includes: {
      control_plane: terms.controlPlanes,
      vcpu: terms.vcpus,
      memory: terms.memoryGB,
      disk: terms.diskGB,
    },
    retired: terms.retired,
  };
}

/** The entity tag of a package: no two of its terms take effect at the same instant. */
export function planTag({ effectiveFrom }: Pick<PackageTerms, "effectiveFrom">): string {
  return versionTag(effectiveFrom.getTime());
}
