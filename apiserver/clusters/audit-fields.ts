import type { ClusterSpec } from "../../shared/crd/cluster.ts";

/** The settings of a cluster that an audit row shows, by wire name. */
export function presentAudit(spec: ClusterSpec, objectName: string): Record<string, unknown> {
  return {
    name: spec.displayName ?? objectName,
    k8s_version: spec.version,
    plan: spec.plan ?? null,
    public_endpoint: spec.publicEndpoint,
    credentials_generation: spec.credentialsGeneration ?? 0,
    authorized_cidrs: spec.network?.authorizedCIDRs ?? [],
  };
}
