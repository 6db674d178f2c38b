import type { Step } from "../../shared/controller/plan.ts";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import {
  type RbacRole,
  type RoleBinding,
  roleBindingKind,
  roleKind,
  secretKind,
} from "../../shared/kube/core-kinds.ts";
import { apiVersionOf, type Kind, type KubeObject, type ObjectMeta } from "../../shared/kube/kind.ts";
import { composeOwnerReference } from "../identity/ownership.ts";

export interface ServiceAccountName {
  namespace: string;
  name: string;
}

/** Lets Marina's API server read the one Secret of the same name, and no other of the namespace. */
export function composeSecretRole(metadata: ObjectMeta): RbacRole {
  return {
    apiVersion: apiVersionOf(roleKind),
    kind: roleKind.kind,
    metadata,
    rules: [
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [metadata.name],
        verbs: ["get"],
      },
    ],
  };
}

/** Gives `reader` the role of the same name. */
export function composeSecretRoleBinding(metadata: ObjectMeta, reader: ServiceAccountName): RoleBinding {
  return {
    apiVersion: apiVersionOf(roleBindingKind),
    kind: roleBindingKind.kind,
    metadata,
    roleRef: { apiGroup: roleKind.group, kind: roleKind.kind, name: metadata.name },
    subjects: [{ kind: "ServiceAccount", namespace: reader.namespace, name: reader.name }],
  };
}

/**
 * Deletes a Secret with a credential and the right to read it. Owner references do not: `kubectl delete
 * --cascade=orphan` leaves what they name. Each is deleted by its name, which no one else gives: a cache may not show
 * it yet.
 */
export function planSecretRemoval(namespace: string, name: string): Step[] {
  return [roleBindingKind, roleKind, secretKind].map((kind) => ({
    verb: "delete",
    kind: kind as Kind<KubeObject>,
    namespace,
    name,
    uid: undefined,
  }));
}

/** Metadata of the role of a cluster's admin kubeconfig, and of its binding. */
export function composeRoleMetadata(cluster: Cluster, clusterId: string): ObjectMeta {
  const { name, namespace } = cluster.metadata;
  return {
    name: nameAdminSecret(name),
    ...(namespace !== undefined && { namespace }),
    labels: { [LABEL_CLUSTER_ID]: clusterId },
    ownerReferences: [composeOwnerReference(cluster)],
  };
}
