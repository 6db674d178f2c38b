import { parse, stringify } from "yaml";
import { z } from "zod";

const adminSchema = z.looseObject({
  clusters: z
    .array(
      z.object({
        cluster: z.object({ server: z.string(), "certificate-authority-data": z.string() }),
      }),
    )
    .length(1),
});

/** The client certificate of a kubeconfig and its key, as PEM, or a token. */
export type Credential = { user: string } & ({ certificate: string; privateKey: string } | { token: string });

/**
 * A kubeconfig for one credential, with the server address and the CA of the cluster's admin kubeconfig. Throws an Error
 * when the admin kubeconfig is not of the form that the operator writes.
 */
export function composeKubeconfig(name: string, adminKubeconfig: string, credential: Credential): string {
  const [admin] = adminSchema.parse(parse(adminKubeconfig)).clusters;
  const user = `${name}-${credential.user}`;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: admin?.cluster }],
    users: [
      {
        name: user,
        user:
          "token" in credential
            ? { token: credential.token }
            : {
                "client-certificate-data": encode(credential.certificate),
                "client-key-data": encode(credential.privateKey),
              },
      },
    ],
    contexts: [{ name, context: { cluster: name, user } }],
    "current-context": name,
  });
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
