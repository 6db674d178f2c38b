import { nameTokenSecret } from "../../shared/crd/admin-secret.ts";
import { type Cluster, type RegistrationPart, registrationParts } from "../../shared/crd/cluster.ts";
import type { ClusterAccess } from "../../shared/crd/cluster-access.ts";
import { idOf } from "../../shared/crd/identity.ts";
import { LABEL_CLUSTER_ID, LABEL_CREDENTIAL } from "../../shared/crd/names.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { composeKubeconfig, type KubeconfigCredential } from "../../shared/kube/kubeconfig.ts";
import { splitKey, toKey } from "../../shared/kube/object.ts";
import {
  ANNOTATION_BASIS,
  ANNOTATION_CONTENT,
  ANNOTATION_RENEW_AT,
  fingerprint,
  readArgoCDContent,
} from "../admin-kubeconfig/kubeconfig.ts";
import { composeOwnerReference } from "../identity/ownership.ts";

/** The access whose credential a Secret holds, by its name. */
const ANNOTATION_ACCESS = "cloud.marina.dev/credential-access";
const ANNOTATION_ISSUED_AT = "cloud.marina.dev/issued-at";

const CREDENTIAL = "registration";

/** By this label Argo CD finds its clusters: argo-cd.readthedocs.io, "Declarative Setup", Clusters. */
const ARGO_CD_LABELS = { "argocd.argoproj.io/secret-type": "cluster" };

/** A dot is in no name of a Secret of Cluster API's own. */
const SUFFIXES: Readonly<Record<RegistrationPart, string>> = {
  fluxSecret: ".flux-kubeconfig.cloud.marina.dev",
  argoCDSecret: ".argocd-cluster.cloud.marina.dev",
  clusterProfile: ".cluster-profile.cloud.marina.dev",
};

/** What the credential of a Secret opens. */
export interface RegistrationBasis {
  clusterId: string;
  server: string;
  /** PEM. */
  caCertificate: string;
}

/** A credential that was issued through an access. */
export interface RegistrationCredential {
  /** The name of the access. */
  access: string;
  credential: KubeconfigCredential;
  expiresAt: Date;
}

/** The Namespace and the name of a Secret; for Argo CD `argoCDNamespace`, where the clusters of all Namespaces are. */
export function placeSecret(
  part: RegistrationPart,
  key: string,
  argoCDNamespace: string,
): { namespace: string; name: string } {
  const { namespace = "", name } = splitKey(key);
  const suffix = SUFFIXES[part];
  return part === "argoCDSecret"
    ? { namespace: argoCDNamespace, name: `${namespace}.${name}${suffix}` }
    : { namespace, name: `${name}${suffix}` };
}

/** The Secret in words for tenants, which name no id: the Namespace of an organization and Argo CD's Secret have it in their names. */
export function describeSecret(part: RegistrationPart, place: { namespace: string; name: string }): string {
  return part === "argoCDSecret"
    ? `the Secret of this cluster in the Namespace ${place.namespace}`
    : `the Secret ${place.name}`;
}

/** The part and the cluster ("namespace/name") that a Secret was made for, by its name; undefined for another Secret. */
export function findRegistered({
  namespace,
  name,
  labels,
}: ObjectMeta): { part: RegistrationPart; key: string } | undefined {
  const part = registrationParts.find((one) => name.endsWith(SUFFIXES[one]));
  if (part === undefined || labels?.[LABEL_CREDENTIAL] !== CREDENTIAL) return undefined;
  const place = name.slice(0, -SUFFIXES[part].length);
  if (part !== "argoCDSecret") return { part, key: toKey(namespace, place) };
  // No Namespace has a dot in its name.
  const [clusterNamespace = "", ...rest] = place.split(".");
  return { part, key: toKey(clusterNamespace, rest.join(".")) };
}

/** The cluster that a Secret was made for, for an index. */
export function indexByRegistration({ metadata }: Secret): string[] {
  const registered = findRegistered(metadata);
  return registered === undefined ? [] : [registered.key];
}

/** Whether a Secret was made for this very cluster: one of Argo CD's by the id, for owners must be in its Namespace. */
export function isOf(secret: Secret, part: RegistrationPart, cluster: Cluster, clusterId: string): boolean {
  const { labels, ownerReferences = [] } = secret.metadata;
  if (labels?.[LABEL_CLUSTER_ID] !== clusterId) return false;
  return part === "argoCDSecret" || ownerReferences.some(({ uid }) => uid === cluster.metadata.uid);
}

/** What a Secret says of itself. `secret` comes from the trimmed cache. */
export function readRegistered(
  secret: Secret,
  basis: RegistrationBasis,
): { access: string; isIntact: boolean; renewAt: Date; issuedAt: Date } {
  const { annotations = {}, labels = {} } = secret.metadata;
  const access = annotations[ANNOTATION_ACCESS] ?? "";
  const required = findRegistered(secret.metadata)?.part === "argoCDSecret" ? ARGO_CD_LABELS : {};
  const isIntact =
    Object.entries(required).every(([name, value]) => labels[name] === value) &&
    annotations[ANNOTATION_CONTENT] === secret.data?.value &&
    annotations[ANNOTATION_BASIS] === hashBasis(basis, access);
  const dateOf = (annotation: string) => new Date(annotations[annotation] ?? 0);
  return { access, isIntact, renewAt: dateOf(ANNOTATION_RENEW_AT), issuedAt: dateOf(ANNOTATION_ISSUED_AT) };
}

/** The Secret with a credential. One beside the Cluster belongs to it; owners in another Namespace count for none. */
export function composeRegistrationSecret(
  part: RegistrationPart,
  cluster: Cluster,
  place: { namespace: string; name: string },
  basis: RegistrationBasis,
  { access, credential, expiresAt }: RegistrationCredential,
  now: Date,
): Secret {
  const data =
    part === "argoCDSecret"
      ? composeArgoCD(cluster, basis, credential)
      : composeKubeconfigData(cluster, basis, credential);
  const renewAt = new Date(now.getTime() + ((expiresAt.getTime() - now.getTime()) * 2) / 3);
  const secret: Secret = {
    apiVersion: "v1",
    kind: secretKind.kind,
    metadata: {
      ...place,
      labels: {
        [LABEL_CREDENTIAL]: CREDENTIAL,
        [LABEL_CLUSTER_ID]: basis.clusterId,
        ...(part === "argoCDSecret" && ARGO_CD_LABELS),
      },
      ...(part !== "argoCDSecret" && { ownerReferences: [composeOwnerReference(cluster)] }),
    },
    type: "Opaque",
    data,
  };
  const annotations = {
    [ANNOTATION_BASIS]: hashBasis(basis, access),
    [ANNOTATION_CONTENT]: fingerprint(data.value ?? readArgoCDContent(secret) ?? ""),
    [ANNOTATION_RENEW_AT]: renewAt.toISOString(),
    [ANNOTATION_ISSUED_AT]: now.toISOString(),
    [ANNOTATION_ACCESS]: access,
  };
  return { ...secret, metadata: { ...secret.metadata, annotations } };
}

/** The credential that was issued through an access, for the private key (PEM) that it was asked for with. */
export async function readIssued(
  client: Pick<KubeClient, "get">,
  { metadata, status }: ClusterAccess,
  key: string | undefined,
  signal: AbortSignal,
): Promise<KubeconfigCredential> {
  if (status?.certificate !== undefined) return { certificate: status.certificate, key: key ?? "" };
  const name = nameTokenSecret(idOf({ metadata }) ?? "");
  const secret = await client.get(secretKind, metadata.namespace, name, { signal });
  if (secret?.data?.token === undefined) throw new Error("there is no token in the Secret of the access");
  return { token: Buffer.from(secret.data.token, "base64").toString() };
}

/** Under the key that Flux reads unless another is named, and that a ClusterProfile names. */
function composeKubeconfigData(
  { metadata: { name } }: Cluster,
  { server, caCertificate }: RegistrationBasis,
  credential: KubeconfigCredential,
): Record<string, string> {
  const user = `${name}-registration`;
  return { value: encode(composeKubeconfig({ cluster: name, user, server, ca: caCertificate, credential })) };
}

function composeArgoCD(
  { metadata }: Cluster,
  { server, caCertificate }: RegistrationBasis,
  credential: KubeconfigCredential,
): Record<string, string> {
  const caData = encode(caCertificate);
  const config =
    "token" in credential
      ? { bearerToken: credential.token, tlsClientConfig: { caData } }
      : {
          tlsClientConfig: {
            caData,
            certData: encode(credential.certificate),
            keyData: encode(credential.key),
          },
        };
  return {
    name: encode(toKey(metadata.namespace, metadata.name)),
    server: encode(server),
    config: encode(JSON.stringify(config)),
  };
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}

function hashBasis({ clusterId, server, caCertificate }: RegistrationBasis, access: string): string {
  return fingerprint(JSON.stringify([clusterId, server, caCertificate, access]));
}
