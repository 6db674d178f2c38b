import type { ClusterSpec } from "../../shared/crd/cluster.ts";

/** The settings of a cluster that an audit row shows, by wire name. */
export function presentAudit(spec: ClusterSpec): Record<string, unknown> {
  return {
    name: spec.displayName,
    k8s_version: spec.version,
    plan: spec.plan ?? null,
    public_endpoint: spec.publicEndpoint,
    authorized_cidrs: spec.network?.authorizedCIDRs ?? [],
  };
}
