import type { Step } from "../../shared/controller/plan.ts";
import { nameTokenSecret } from "../../shared/crd/admin-secret.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { type ClusterAccess, clusterAccessKind, nameAccessGroup } from "../../shared/crd/cluster-access.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID, LABEL_CREDENTIAL } from "../../shared/crd/names.ts";
import { roleBindingKind, roleKind, type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import { apiVersionOf } from "../../shared/kube/kind.ts";
import { toKey } from "../../shared/kube/object.ts";
import type { TenantClient } from "../../shared/tenant/tenant-client.ts";
import { composeAccessBinding } from "../tenant/binding.ts";
import { type AccountToken, requestToken, type Signers } from "../tenant/issue.ts";
import {
  composeSecretRole,
  composeSecretRoleBinding,
  type ServiceAccountName,
} from "../tenant/secret-role.ts";
import { checkRequest } from "../tenant/sign.ts";

/** What an access has: a certificate, or a token in a Secret. */
export type IssuedAccess = { certificate: string } | { tokenSecretName: string };

/** What was issued before; undefined = nothing. */
export function findIssued({ status }: ClusterAccess): IssuedAccess | undefined {
  if (status?.certificate !== undefined) return { certificate: status.certificate };
  return status?.tokenSecretName === undefined ? undefined : { tokenSecretName: status.tokenSecretName };
}

/**
 * Issues an access in a cluster whose CA's key is not known. The tenant's control plane signs the request with the subject that
 * is in it: only one for exactly the user and the group of this access is passed on; for any other, and where nothing is
 * signed, there is a token of a separate ServiceAccount. Rejects with a RequestError for a request that must not be
 * signed, and with the KubeError of the tenant's API server.
 */
export async function issueAccessByTenant(
  signers: Pick<Signers, "request">,
  tenant: TenantClient,
  { metadata, spec }: ClusterAccess,
  id: string,
  lifetimeMs: number,
): Promise<{ certificate: string } | AccountToken> {
  const seconds = lifetimeMs / 1000;
  const isOwnName = await checkRequest(spec.csr, {
    commonName: spec.subject,
    organization: nameAccessGroup(id),
  });
  const key = toKey(metadata.namespace, spec.clusterName);
  const certificate = isOwnName ? await signers.request(key, tenant, spec.csr, seconds) : undefined;
  if (certificate !== undefined) return { certificate };
  return requestToken(tenant, composeAccessBinding(id, "kubeconfig").metadata.name, seconds);
}

/** The Secret with the token of an access, and the right of Marina's API server to read it; they are deleted with the access. */
export function composeTokenSteps(
  access: ClusterAccess,
  cluster: Cluster,
  id: string,
  token: string,
  apiserver: ServiceAccountName,
): { tokenSecretName: string; steps: Step[] } {
  const { name, namespace = "", uid = "" } = access.metadata;
  const tokenSecretName = nameTokenSecret(id);
  const owner = { apiVersion: apiVersionOf(clusterAccessKind), kind: clusterAccessKind.kind, name, uid };
  const labels = { [LABEL_CLUSTER_ID]: idOf(cluster) ?? "" };
  const metadata = {
    name: tokenSecretName,
    namespace,
    labels,
    ownerReferences: [{ ...owner, controller: true }],
  };
  const secret: Secret = {
    apiVersion: apiVersionOf(secretKind),
    kind: secretKind.kind,
    metadata: { ...metadata, labels: { ...labels, [LABEL_CREDENTIAL]: "access-token" } },
    type: "Opaque",
    data: { token: Buffer.from(token).toString("base64") },
  };
  const steps: Step[] = [
    { verb: "apply", kind: secretKind, object: secret },
    { verb: "apply", kind: roleKind, object: composeSecretRole(metadata) },
    { verb: "apply", kind: roleBindingKind, object: composeSecretRoleBinding(metadata, apiserver) },
  ];
  return { tokenSecretName, steps };
}
