import { parse } from "yaml";
import { z } from "zod";
import { composeKubeconfig, type KubeconfigCredential } from "../../shared/kube/kubeconfig.ts";

const adminSchema = z.looseObject({
  clusters: z.tuple([
    z.object({
      cluster: z.object({ server: z.string(), "certificate-authority-data": z.base64() }),
    }),
  ]),
});

/** The credential of an access, and the name of its user in the kubeconfig after the cluster's. */
export type Credential = { user: string } & KubeconfigCredential;

/**
 * A kubeconfig for one credential, with the server address and the CA of the cluster's admin kubeconfig. Throws an
 * Error when the admin kubeconfig is not of the form that the operator writes.
 */
export function composeAccessKubeconfig(
  name: string,
  adminKubeconfig: string,
  { user, ...credential }: Credential,
): string {
  const { clusters } = adminSchema.parse(parse(adminKubeconfig));
  const { server, "certificate-authority-data": ca } = clusters[0].cluster;
  return composeKubeconfig({
    cluster: name,
    user: `${name}-${user}`,
    server,
    ca: Buffer.from(ca, "base64").toString(),
    credential,
  });
}
