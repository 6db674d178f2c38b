import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import { apiVersionOf } from "../../shared/kube/kind.ts";
import type { ClientCertificate } from "./sign.ts";
import { fingerprint } from "./trim.ts";

/** Marks the Secrets that hold a credential issued here. */
export const LABEL_CREDENTIAL = "cloud.marina.dev/credential";
/** What a credential was made of; another value means that it has to be made anew. */
const ANNOTATION_BASIS = "cloud.marina.dev/credential-basis";
const ANNOTATION_RENEW_AT = "cloud.marina.dev/renew-at";
const ANNOTATION_CONTENT = "cloud.marina.dev/content";

const LIFETIME_MS = 7 * 24 * 3600 * 1000;
/** Renewed at two thirds: whoever fetches it has at least two days before it ends. */
export const RENEW_AFTER_MS = (LIFETIME_MS * 2) / 3;
/** Clocks of the tenant's machines may be behind. */
const CLOCK_SKEW_MS = 5 * 60 * 1000;

/** What the admin kubeconfig of a cluster stands on. PEM. */
export interface KubeconfigBasis {
  clusterId: string;
  credentialsGeneration: number;
  server: string;
  caCertificate: string;
}

/** Each generation has a group of its own: dropping the binding of the last one ends every older kubeconfig. */
export function nameAdminGroup(clusterId: string, generation: number): string {
  return `cloud.marina.dev:admin:${clusterId}:${generation}`;
}

export function nameAdminSecret(clusterName: string): string {
  return `${clusterName}-admin-kubeconfig`;
}

/** Whether the Secret has to be issued (anew) now, and if not, when. `existing` comes from the trimmed cache. */
export function decideIssue(
  existing: Secret | undefined,
  basis: KubeconfigBasis,
  now: Date,
): { issue: true } | { issue: false; renewInMs: number } {
  const annotations = existing?.metadata.annotations ?? {};
  const renewInMs = Date.parse(annotations[ANNOTATION_RENEW_AT] ?? "") - now.getTime();
  const intact =
    annotations[ANNOTATION_BASIS] === hashBasis(basis) &&
    annotations[ANNOTATION_CONTENT] === existing?.data?.value;
  return intact && renewInMs > 0 ? { issue: false, renewInMs } : { issue: true };
}

/** What to ask of the signer. */
export function composeRequest(basis: KubeconfigBasis, now: Date) {
  return {
    commonName: `cloud.marina.dev:admin:${basis.clusterId}`,
    organization: nameAdminGroup(basis.clusterId, basis.credentialsGeneration),
    notBefore: new Date(now.getTime() - CLOCK_SKEW_MS),
    notAfter: new Date(now.getTime() + LIFETIME_MS),
  };
}

/** The Secret with the kubeconfig, owned by the Cluster. */
export function composeAdminSecret(
  cluster: Cluster,
  basis: KubeconfigBasis,
  credential: ClientCertificate,
  now: Date,
): Secret {
  const { name, namespace, uid } = cluster.metadata;
  const value = encode(composeKubeconfig(name, basis, credential));
  return {
    apiVersion: "v1",
    kind: secretKind.kind,
    metadata: {
      name: nameAdminSecret(name),
      ...(namespace !== undefined && { namespace }),
      labels: { [LABEL_CREDENTIAL]: "admin-kubeconfig", [LABEL_CLUSTER_ID]: basis.clusterId },
      annotations: {
        [ANNOTATION_BASIS]: hashBasis(basis),
        [ANNOTATION_RENEW_AT]: new Date(now.getTime() + RENEW_AFTER_MS).toISOString(),
        [ANNOTATION_CONTENT]: fingerprint(value),
      },
      ownerReferences: [
        {
          apiVersion: apiVersionOf(clusterKind),
          kind: clusterKind.kind,
          name,
          uid: uid ?? "",
          controller: true,
        },
      ],
    },
    type: "Opaque",
    data: { value },
  };
}

function composeKubeconfig(name: string, basis: KubeconfigBasis, credential: ClientCertificate): string {
  return `apiVersion: v1
kind: Config
clusters:
  - name: ${name}
    cluster:
      server: ${basis.server}
      certificate-authority-data: ${encode(basis.caCertificate)}
users:
  - name: ${name}-admin
    user:
      client-certificate-data: ${encode(credential.certificate)}
      client-key-data: ${encode(credential.key)}
contexts:
  - name: ${name}
    context:
      cluster: ${name}
      user: ${name}-admin
current-context: ${name}
`;
}

function hashBasis(basis: KubeconfigBasis): string {
  const { clusterId, credentialsGeneration, server, caCertificate } = basis;
  return fingerprint(JSON.stringify([clusterId, credentialsGeneration, server, caCertificate]));
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
