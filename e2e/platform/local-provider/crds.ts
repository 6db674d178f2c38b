import { z } from "zod";
import {
  ageColumn,
  buildCustomResourceDefinition,
  type PrinterColumn,
} from "../../../shared/crd/definition.ts";
import type { Kind, KubeObject } from "../../../shared/kube/kind.ts";
import {
  localBootstrapKind,
  localBootstrapSpecSchema,
  localBootstrapStatusSchema,
  localClusterKind,
  localClusterSpecSchema,
  localClusterStatusSchema,
  localControlPlaneKind,
  localControlPlaneSpecSchema,
  localControlPlaneStatusSchema,
  localMachineKind,
  localMachineSpecSchema,
  localMachineStatusSchema,
} from "./kinds.ts";

/** A Kubernetes object as in a manifest. */
interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  [field: string]: unknown;
}

interface KindSchema {
  kind: Kind<KubeObject>;
  spec: z.ZodObject;
  status: z.ZodType;
  columns: readonly PrinterColumn[];
}

const column = (
  name: string,
  jsonPath: string,
  description: string,
  type: "string" | "integer" = "string",
) => ({
  name,
  type,
  jsonPath,
  description,
});

const KINDS: readonly KindSchema[] = [
  {
    kind: localClusterKind,
    spec: localClusterSpecSchema,
    status: localClusterStatusSchema,
    columns: [column("Port", ".spec.controlPlaneEndpoint.port", "Port of the cluster's API.", "integer")],
  },
  {
    kind: localControlPlaneKind,
    spec: localControlPlaneSpecSchema,
    status: localControlPlaneStatusSchema,
    columns: [
      column("Version", ".spec.version", "Desired version."),
      column("Available", '.status.conditions[?(@.type=="Available")].status', "Whether its API responds."),
    ],
  },
  {
    kind: localMachineKind,
    spec: localMachineSpecSchema,
    status: localMachineStatusSchema,
    columns: [column("Provider ID", ".spec.providerID", "Name of the machine in this provider.")],
  },
  {
    kind: localBootstrapKind,
    spec: localBootstrapSpecSchema,
    status: localBootstrapStatusSchema,
    columns: [],
  },
];

// Cluster API finds the contract version by this label, and gets access to other providers' kinds through this role.
const CONTRACT_LABELS = { "cluster.x-k8s.io/v1beta2": localClusterKind.version };
const AGGREGATE_LABEL = { "cluster.x-k8s.io/aggregate-to-manager": "true" };

function toDefinition({ kind, spec, status, columns }: KindSchema): Manifest {
  const description = spec.description ?? kind.kind;
  const built = buildCustomResourceDefinition({
    kind,
    singular: kind.kind.toLowerCase(),
    shortNames: [],
    description,
    spec,
    status,
    rules: [],
    printerColumns: [...columns, ageColumn],
  }) as unknown as Manifest;
  return { ...built, metadata: { ...built.metadata, labels: CONTRACT_LABELS } };
}

/** The template of a kind: the same spec, with every field optional. */
function toTemplate({ kind, spec }: KindSchema): KindSchema {
  const template = z.object({ template: z.object({ spec: spec.partial() }) });
  return {
    kind: { ...kind, kind: `${kind.kind}Template`, plural: `${kind.kind.toLowerCase()}templates` },
    spec: template.meta({ description: `A template of a ${kind.kind}.` }),
    status: z.object({}),
    columns: [],
  };
}

/**
 * The eight CustomResourceDefinitions of the provider, the role that gives Cluster API access to them, and that of the
 * operator (a user of Kubernetes), whose chart gives it the groups of Cluster API only.
 */
export function buildManifests(operator: string): { crds: Manifest[]; roles: Manifest[] } {
  const group = localClusterKind.group;
  const role: Manifest = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "marina-local-provider", labels: AGGREGATE_LABEL },
    rules: [{ apiGroups: [group], resources: ["*"], verbs: ["*"] }],
  };
  const metadata = { name: "marina-local-provider-reader" };
  const reader: Manifest = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata,
    rules: [{ apiGroups: [group], resources: [localClusterKind.plural], verbs: ["get"] }],
  };
  const binding: Manifest = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: metadata.name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: operator }],
  };
  const crds = [...KINDS, ...KINDS.map(toTemplate)].map(toDefinition);
  return { crds, roles: [role, reader, binding] };
}
