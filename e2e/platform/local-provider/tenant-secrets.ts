import { type Secret, secretKind } from "../../../shared/kube/core-kinds.ts";
import { apiVersionOf } from "../../../shared/kube/kind.ts";
import type { Store } from "../../../shared/kube/store.ts";
import {
  type ControlPlaneShape,
  LABEL_CLUSTER_NAME,
  type LocalControlPlane,
  localControlPlaneKind,
} from "./kinds.ts";
import {
  createAuthority,
  createSigningKeys,
  isDueForRenewal,
  isPair,
  issueCertificate,
  type KeyPair,
} from "./pki.ts";
import type { Authorities, Tenant } from "./tenant.ts";

/** Names of the Secrets of a cluster in Cluster API and its providers: `<name>-<purpose>`. */
const PURPOSES = ["ca", "proxy", "sa", "kubeconfig"] as const;
type Purpose = (typeof PURPOSES)[number];

export type TenantSecrets = Partial<Record<Purpose, Secret>>;

const KUBECONFIG_CERTIFICATE = "local.marina.dev/certificate";

const toBase64 = (text: string): string => Buffer.from(text).toString("base64");
const fromBase64 = (text: string | undefined): string => Buffer.from(text ?? "", "base64").toString("utf8");

/**
 * A control plane with a shape has no Secret of the CA and its key: the provider keeps its own, which no other program
 * reads.
 */
function nameSecret(cluster: string, purpose: Purpose, shape: ControlPlaneShape | undefined): string {
  return purpose === "ca" && shape !== undefined ? `${cluster}.provider-ca` : `${cluster}-${purpose}`;
}

/** The existing Secrets of a tenant. */
export function findSecrets(
  secrets: Store<Secret>,
  { namespace, name }: Tenant,
  shape: ControlPlaneShape | undefined,
): TenantSecrets {
  const entries = PURPOSES.map((purpose) => [
    purpose,
    secrets.get(`${namespace}/${nameSecret(name, purpose, shape)}`),
  ]);
  return Object.fromEntries(entries.filter(([, secret]) => secret !== undefined));
}

function toKeyPair(secret: Secret): KeyPair {
  return { certificate: fromBase64(secret.data?.["tls.crt"]), key: fromBase64(secret.data?.["tls.key"]) };
}

function readAuthority(secret: Secret | undefined): KeyPair | undefined {
  const pair = secret && toKeyPair(secret);
  return pair !== undefined && isPair(pair) ? pair : undefined;
}

/** undefined while one of them is missing or holds a certificate that does not match its key. */
export function readAuthorities(secrets: TenantSecrets): Authorities | undefined {
  const { ca, proxy } = { ca: readAuthority(secrets.ca), proxy: readAuthority(secrets.proxy) };
  if (ca === undefined || proxy === undefined || secrets.sa === undefined) return undefined;
  const signing = toKeyPair(secrets.sa);
  return {
    ca,
    proxy,
    serviceAccountKey: signing.key,
    serviceAccountPublicKey: signing.certificate,
  };
}

/** Whether all exist and the certificate in the kubeconfig is not due for renewal. */
export function areSecretsGood(secrets: TenantSecrets, server: string, now: Date): boolean {
  if (PURPOSES.some((purpose) => secrets[purpose] === undefined)) return false;
  const certificate = secrets.kubeconfig?.metadata.annotations?.[KUBECONFIG_CERTIFICATE];
  if (certificate === undefined || isDueForRenewal(fromBase64(certificate), now)) return false;
  return fromBase64(secrets.kubeconfig?.data?.value).includes(server);
}

function composeKubeconfig(cluster: string, server: string, ca: KeyPair, admin: KeyPair): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": cluster,
    clusters: [
      { name: cluster, cluster: { server, "certificate-authority-data": toBase64(ca.certificate) } },
    ],
    users: [
      {
        name: "cluster-api",
        user: {
          "client-certificate-data": toBase64(admin.certificate),
          "client-key-data": toBase64(admin.key),
        },
      },
    ],
    contexts: [{ name: cluster, context: { cluster, user: "cluster-api" } }],
  });
}

function toSecret(
  owner: LocalControlPlane,
  tenant: Tenant,
  purpose: Purpose,
  data: Record<string, string>,
): Secret {
  const { name, uid = "" } = owner.metadata;
  return {
    apiVersion: apiVersionOf(secretKind),
    kind: secretKind.kind,
    metadata: {
      name: nameSecret(tenant.name, purpose, owner.spec.shape),
      namespace: tenant.namespace,
      labels: { [LABEL_CLUSTER_NAME]: tenant.name },
      ownerReferences: [
        {
          apiVersion: apiVersionOf(localControlPlaneKind),
          kind: localControlPlaneKind.kind,
          name,
          uid,
          controller: true,
        },
      ],
    },
    type: "cluster.x-k8s.io/secret",
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, toBase64(text)])),
  };
}

/**
 * The missing authorities and keys. They must be created, never applied: an existing one is the cluster's identity and
 * must not be replaced.
 */
export async function makeMissingKeys(
  secrets: TenantSecrets,
  owner: LocalControlPlane,
  tenant: Tenant,
): Promise<Secret[]> {
  const created: Secret[] = [];
  const add = (purpose: Purpose, pair: KeyPair): void => {
    created.push(toSecret(owner, tenant, purpose, { "tls.crt": pair.certificate, "tls.key": pair.key }));
  };
  if (secrets.ca === undefined) add("ca", await createAuthority("kubernetes"));
  if (secrets.proxy === undefined) add("proxy", await createAuthority("front-proxy"));
  if (secrets.sa === undefined) {
    const { publicKey, key } = await createSigningKeys();
    add("sa", { certificate: publicKey, key });
  }
  return created;
}

/** The CA without its key, for a control plane that publishes no more of it. To be applied. */
export function makePublicAuthority(ca: KeyPair, owner: LocalControlPlane, tenant: Tenant): Secret[] {
  if (owner.spec.shape !== "keyless") return [];
  const secret = toSecret(owner, tenant, "ca", { "tls.crt": ca.certificate });
  return [{ ...secret, metadata: { ...secret.metadata, name: `${tenant.name}-ca` } }];
}

/** The kubeconfig that Cluster API uses for the tenant, with a new certificate. To be applied. */
export async function makeKubeconfig(
  ca: KeyPair,
  server: string,
  owner: LocalControlPlane,
  tenant: Tenant,
): Promise<Secret> {
  const admin = await issueCertificate(ca, { commonName: "cluster-api", organizations: ["system:masters"] });
  const secret = toSecret(owner, tenant, "kubeconfig", {
    value: composeKubeconfig(tenant.name, server, ca, admin),
  });
  const annotations = { [KUBECONFIG_CERTIFICATE]: toBase64(admin.certificate) };
  return { ...secret, metadata: { ...secret.metadata, annotations } };
}
