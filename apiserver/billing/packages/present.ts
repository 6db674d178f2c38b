import type { z } from "@hono/zod-openapi";
import {
  type Capability,
  findUnsupportedReason,
  type PlanCapabilities,
} from "../../../shared/crd/published-config.ts";
import { presentActor } from "../../audit/present.ts";
import { versionTag } from "../../http/contract/etag.ts";
import { toEuros } from "../money.ts";
import type { capabilitiesRecord, PackageSlug, planRecord, planTermsRecord } from "./schema.ts";
import type { Package, PackageTerms } from "./store.ts";

/** The wire form of a package as tenants see it. */
export function presentPlan(
  slug: PackageSlug,
  terms: Package,
  capabilities: PlanCapabilities | undefined,
): z.output<typeof planRecord> {
  const { monthly_price_eur, control_plane_replicas, includes } = auditPackage(terms);
  const reason = findUnsupportedReason(capabilities?.class);
  return {
    slug,
    monthly_price_eur,
    control_plane_replicas,
    includes,
    capabilities:
      capabilities === undefined || reason !== undefined ? null : presentCapabilities(capabilities),
    unavailable_reason: reason ?? null,
  };
}

function presentCapabilities(capabilities: PlanCapabilities): z.output<typeof capabilitiesRecord> {
  const { zones } = capabilities;
  return {
    authorized_cidrs: presentCapability(capabilities.authorizedCIDRs),
    max_authorized_cidrs: capabilities.maxAuthorizedCIDRs ?? null,
    authorized_ipv6_cidrs: presentCapability(capabilities.authorizedIPv6CIDRs),
    api_server_rate_limit: presentCapability(capabilities.apiServerRateLimit),
    private_endpoint: presentCapability(capabilities.privateEndpoint),
    node_labels: presentCapability(capabilities.nodeLabels),
    node_taints: presentCapability(capabilities.nodeTaints),
    health_checks: presentCapability(capabilities.healthChecks),
    zones: Array.isArray(zones) ? zones : [],
  };
}

function presentCapability(capability: Capability | undefined) {
  if (capability === undefined) return null;
  const reason = findUnsupportedReason(capability);
  return { supported: reason === undefined, reason: reason ?? null };
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
