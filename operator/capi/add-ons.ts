import { createHash } from "node:crypto";
import type { ConfigMap, Secret } from "../../shared/kube/core-kinds.ts";
import { defineKind, type KubeObject } from "../../shared/kube/kind.ts";

const ADD_ONS = { group: "addons.cluster.x-k8s.io", version: "v1beta2", namespaced: true } as const;

/** An object with manifests, in the Namespace of the set that names it. */
export interface AddOnResource {
  kind: "ConfigMap" | "Secret";
  name: string;
}

interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/**
 * Cluster API's ClusterResourceSet: it selects clusters of its own Namespace alone. Selector and strategy never change.
 */
export interface ClusterResourceSet extends KubeObject {
  spec?: {
    clusterSelector?: LabelSelector;
    resources?: AddOnResource[];
    /** Cluster API sets `ApplyOnce` where it is left out. */
    strategy?: "ApplyOnce" | "Reconcile";
  };
}

/** What Cluster API applied to the cluster of the same name. */
export interface ClusterResourceSetBinding extends KubeObject {
  spec?: {
    bindings?: {
      clusterResourceSetName: string;
      resources?: (AddOnResource & { applied?: boolean; hash?: string })[];
    }[];
  };
}

export const clusterResourceSetKind = defineKind<ClusterResourceSet>({
  ...ADD_ONS,
  kind: "ClusterResourceSet",
  plural: "clusterresourcesets",
});

export const clusterResourceSetBindingKind = defineKind<ClusterResourceSetBinding>({
  ...ADD_ONS,
  kind: "ClusterResourceSetBinding",
  plural: "clusterresourcesetbindings",
});

/**
 * The hash that Cluster API records of what it applied: of all values, by the order of their keys (`computeHash` of its
 * ClusterResourceSet controller, version 1.14).
 */
export function hashManifests({ data = {} }: ConfigMap | Secret, encoding: "utf8" | "base64"): string {
  const hash = createHash("sha256");
  for (const key of Object.keys(data).sort()) hash.update(Buffer.from(data[key] ?? "", encoding));
  return `sha256:${hash.digest("hex")}`;
}

/** Whether a set selects the clusters with these labels. Cluster API lets an empty selector select none. */
export function selectsCluster(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Readonly<Record<string, string>>,
): boolean {
  const required = Object.entries(matchLabels);
  if (required.length + matchExpressions.length === 0) return false;
  return (
    required.every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const isListed = value !== undefined && values.includes(value);
      return operator === "In" ? isListed : !isListed;
    })
  );
}
