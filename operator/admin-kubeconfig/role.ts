import { nameAdminSecret } from "../../shared/admin-secret.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import { type Role, type RoleBinding, roleBindingKind, roleKind } from "../../shared/kube/core-kinds.ts";
import { apiVersionOf } from "../../shared/kube/kind.ts";

export interface ServiceAccountName {
  namespace: string;
  name: string;
}

/** Lets the API server read this one Secret, and no other of the namespace. */
export function composeSecretRole(cluster: Cluster, clusterId: string): Role {
  return {
    apiVersion: apiVersionOf(roleKind),
    kind: roleKind.kind,
    metadata: composeMetadata(cluster, clusterId),
    rules: [
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [nameAdminSecret(cluster.metadata.name)],
        verbs: ["get"],
      },
    ],
  };
}

export function composeSecretRoleBinding(
  cluster: Cluster,
  clusterId: string,
  reader: ServiceAccountName,
): RoleBinding {
  const metadata = composeMetadata(cluster, clusterId);
  return {
    apiVersion: apiVersionOf(roleBindingKind),
    kind: roleBindingKind.kind,
    metadata,
    roleRef: { apiGroup: roleKind.group, kind: roleKind.kind, name: metadata.name },
    subjects: [{ kind: "ServiceAccount", namespace: reader.namespace, name: reader.name }],
  };
}

function composeMetadata(cluster: Cluster, clusterId: string) {
  const { name, namespace, uid } = cluster.metadata;
  return {
    name: nameAdminSecret(name),
    ...(namespace !== undefined && { namespace }),
    labels: { [LABEL_CLUSTER_ID]: clusterId },
    ownerReferences: [
      {
        apiVersion: apiVersionOf(clusterKind),
        kind: clusterKind.kind,
        name,
        uid: uid ?? "",
        controller: true,
      },
    ],
  };
}
