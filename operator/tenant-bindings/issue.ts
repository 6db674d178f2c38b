import { objectKey } from "../../shared/kube/object.ts";
import {
  type AdminCredential,
  composeRequest,
  type IssueDecision,
  type KubeconfigBasis,
  LIFETIME_MS,
} from "../admin-kubeconfig/kubeconfig.ts";
import type { ObservedAdminKubeconfig } from "../admin-kubeconfig/observe.ts";
import { type AdminKubeconfigDeps, recordRevision, writeAdminSecret } from "../admin-kubeconfig/run.ts";
import type { RunContext } from "../run-context.ts";
import { readCapiAccess } from "../tenant/authority.ts";
import { composeAdminBinding } from "../tenant/binding.ts";
import { requestToken } from "../tenant/issue.ts";
import { createRequest, readNotAfter } from "../tenant/sign.ts";
import type { Signers } from "../tenant/signers.ts";
import type { TenantClient } from "../tenant/tenant-client.ts";

/**
 * Issues the admin kubeconfig of a cluster whose CA's key is not known, when it is due: with a certificate that the tenant's
 * control plane signs, else with a token of a ServiceAccount. Rejects with the KubeError of either API server.
 */
export async function issueAdminByTenant(
  deps: Pick<AdminKubeconfigDeps, "client" | "now"> & { signers: Pick<Signers, "request"> },
  tenant: TenantClient,
  { cluster, credential }: ObservedAdminKubeconfig,
  { basis, issue }: { basis: KubeconfigBasis; issue: IssueDecision },
  context: RunContext,
): Promise<void> {
  if (issue.kind === "keep") return;
  const { ca } = await readCapiAccess(deps, cluster, context.signal);
  if (issue.kind === "compare" && issue.caCertificate === ca.certificate) {
    await recordRevision(deps, credential, issue, ca.revision, context);
    return;
  }
  const issued = await requestCredential(deps, tenant, objectKey(cluster), basis);
  await writeAdminSecret(deps, { cluster, credential }, basis, ca, issued, context);
}

async function requestCredential(
  { signers, now }: Pick<AdminKubeconfigDeps, "now"> & { signers: Pick<Signers, "request"> },
  tenant: TenantClient,
  key: string,
  basis: KubeconfigBasis,
): Promise<AdminCredential> {
  const { commonName, organization } = composeRequest(basis, now());
  const { key: privateKey, csr } = await createRequest(commonName, organization);
  const certificate = await signers.request(key, tenant, csr, LIFETIME_MS / 1000);
  if (certificate !== undefined) {
    return { credential: { certificate, key: privateKey }, expiresAt: readNotAfter(certificate) };
  }
  const { clusterId, credentialsGeneration, authority } = basis;
  const { name } = composeAdminBinding(clusterId, credentialsGeneration, authority).metadata;
  const { token, expiresAt } = await requestToken(tenant, name, LIFETIME_MS / 1000);
  return { credential: { token }, expiresAt };
}
