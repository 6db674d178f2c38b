import { createHash, X509Certificate } from "node:crypto";
import { nameAdminSecret } from "../../shared/crd/admin-secret.ts";
import type { Cluster } from "../../shared/crd/cluster.ts";
import { LABEL_CLUSTER_ID, LABEL_CREDENTIAL } from "../../shared/crd/names.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { ObjectMeta } from "../../shared/kube/kind.ts";
import { composeKubeconfig, type KubeconfigCredential } from "../../shared/kube/kubeconfig.ts";
import { CLOCK_SKEW_MS } from "../../shared/program/time.ts";
import { composeOwnerReference } from "../identity/ownership.ts";
import {
  type AccessSourceKind,
  ANNOTATION_CA_REVISION,
  ANNOTATION_CAPI_UID,
  ANNOTATION_LOST_CA,
  type CaCertificate,
} from "../tenant/access.ts";
import { nameAdminGroup } from "../tenant/subjects.ts";

/** A hash of what a credential was issued from; with another value it is issued again. */
export const ANNOTATION_BASIS = "cloud.marina.dev/credential-basis";
export const ANNOTATION_RENEW_AT = "cloud.marina.dev/renew-at";
export const ANNOTATION_CONTENT = "cloud.marina.dev/content";

export const LIFETIME_MS = 7 * 24 * 3600 * 1000;
/** Renewed at two thirds: a reader has at least two days before it expires. */
export const RENEW_AFTER_MS = (LIFETIME_MS * 2) / 3;

/** What the admin kubeconfig of a cluster is issued from, in addition to its CA. */
export interface KubeconfigBasis {
  clusterId: string;
  credentialsGeneration: number;
  server: string;
  accessSource: AccessSourceKind;
  /** The uid of the Cluster API cluster. */
  capiUid: string;
}

/** What a kubeconfig lets in with, and when that ends. */
export interface AdminCredential {
  credential: KubeconfigCredential;
  expiresAt: Date;
}

/** A kubeconfig as it was issued: its CA (PEM), and when it is to be renewed. */
export interface IssuedKubeconfig {
  caCertificate: string;
  renewInMs: number;
}

export type IssueDecision =
  | { kind: "issue" }
  | ({ kind: "keep" } & IssuedKubeconfig)
  /** The CA's Secret has another revision than the last one compared: keep it while the CA has this certificate. */
  | ({ kind: "compare" } & IssuedKubeconfig);

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

const CA_FIELD = "certificate-authority-data: ";

/** Whether the Secret has to be issued now. `existing` comes from the trimmed cache; `caRevision` is the current one. */
export function decideIssue(
  existing: Secret | undefined,
  basis: KubeconfigBasis,
  caRevision: string,
  now: Date,
): IssueDecision {
  const annotations = existing?.metadata.annotations ?? {};
  const caCertificate = existing?.data?.["ca.crt"];
  const renewInMs = Date.parse(annotations[ANNOTATION_RENEW_AT] ?? "") - now.getTime();
  const intact =
    existing !== undefined &&
    caCertificate !== undefined &&
    annotations[ANNOTATION_BASIS] === hashBasis(basis, caCertificate) &&
    annotations[ANNOTATION_CONTENT] === existing.data?.value;
  if (!intact || !(renewInMs > 0)) return { kind: "issue" };
  const isKnownLost = annotations[ANNOTATION_LOST_CA] === describeLostCa(basis.capiUid, caRevision);
  if (isKnownLost || isRecorded(existing, basis, caRevision))
    return { kind: "keep", caCertificate, renewInMs };
  return { kind: "compare", caCertificate, renewInMs };
}

/** Whether the comparison of a credential with this revision of the CA's Secret is recorded. */
export function isRecorded(existing: Secret, basis: KubeconfigBasis, caRevision: string): boolean {
  const annotations = existing.metadata.annotations ?? {};
  return (
    annotations[ANNOTATION_CA_REVISION] === caRevision &&
    annotations[ANNOTATION_CAPI_UID] === capiUidOf(basis)
  );
}

/** The patch that records the revision of the CA's Secret that was found to hold the CA of a credential. */
export function composeRevisionPatch(
  caRevision: string,
  basis: KubeconfigBasis,
  { resourceVersion }: ObjectMeta,
): object {
  const annotations = {
    [ANNOTATION_CA_REVISION]: caRevision,
    [ANNOTATION_CAPI_UID]: capiUidOf(basis) ?? null,
    [ANNOTATION_LOST_CA]: null,
  };
  return { metadata: { resourceVersion, annotations } };
}

/** The patch that records that this revision of the CA's Secret holds another CA than the cluster was made with. */
export function composeLostCaPatch(
  caRevision: string,
  basis: KubeconfigBasis,
  { resourceVersion }: ObjectMeta,
): object {
  const annotations = { [ANNOTATION_LOST_CA]: describeLostCa(basis.capiUid, caRevision) };
  return { metadata: { resourceVersion, annotations } };
}

/**
 * Whether a credential was issued by another CA than this one (PEM), for the same Cluster API cluster, which never gets another
 * key: its certificate may be renewed, or be one of several.
 */
export function isOfOtherCa(existing: Secret, basis: KubeconfigBasis, caCertificate: string): boolean {
  const capiUid = existing.metadata.annotations?.[ANNOTATION_CAPI_UID];
  const known = existing.data?.["ca.crt"];
  return (
    capiUid !== undefined &&
    capiUid === capiUidOf(basis) &&
    known !== undefined &&
    !sharesKey(known, caCertificate)
  );
}

/** Whether two texts hold a certificate (PEM) of the same key; of one that cannot be read only the same text is. */
function sharesKey(left: string, right: string): boolean {
  if (left.trim() === right.trim()) return true;
  const keys = new Set(listKeys(left));
  return listKeys(right).some((key) => keys.has(key));
}

function listKeys(certificates: string): string[] {
  return [...certificates.matchAll(CERTIFICATE)].flatMap(([text]) => {
    try {
      return [new X509Certificate(text).publicKey.export({ type: "spki", format: "pem" }).toString()];
    } catch {
      // Not a certificate: it has no key to compare.
      return [];
    }
  });
}

/**
 * Whether the CA of a Cluster API cluster is lost, by the credential that was issued by it: its Secret is gone or another one
 * (of this revision), and has not been found to hold the same CA since.
 */
export function isCaLost(
  existing: Secret | undefined,
  capiUid: string | undefined,
  caRevision: string | undefined,
): boolean {
  const annotations = existing?.metadata.annotations ?? {};
  if (capiUid === undefined || annotations[ANNOTATION_CAPI_UID] !== capiUid) return false;
  // Issued by the one that is there, whatever was noted of another before.
  if (caRevision !== undefined && annotations[ANNOTATION_CA_REVISION] === caRevision) return false;
  if (annotations[ANNOTATION_LOST_CA]?.startsWith(describeLostCa(capiUid, "")) === true) return true;
  const [uid] = annotations[ANNOTATION_CA_REVISION]?.split("/") ?? [];
  return uid !== undefined && caRevision?.startsWith(`${uid}/`) !== true;
}

function describeLostCa(capiUid: string, caRevision: string): string {
  return `${capiUid} ${caRevision}`;
}

/** Where the key of the CA is not here, its certificate may be another one at any time. */
function capiUidOf({ accessSource, capiUid }: KubeconfigBasis): string | undefined {
  return accessSource === "ca" ? capiUid : undefined;
}

/** What the signer gets. */
export function composeRequest(basis: KubeconfigBasis, now: Date) {
  const name = nameAdminGroup(basis.clusterId, basis.credentialsGeneration);
  return {
    // A binding of the tenant's may name the user, too: it ends with the generation.
    commonName: name,
    organization: name,
    notBefore: new Date(now.getTime() - CLOCK_SKEW_MS),
    notAfter: new Date(now.getTime() + LIFETIME_MS),
  };
}

/** The Secret with the kubeconfig, owned by the Cluster. */
export function composeAdminSecret(
  cluster: Cluster,
  basis: KubeconfigBasis,
  ca: CaCertificate,
  { credential, expiresAt }: AdminCredential,
  now: Date,
): Secret {
  const renewAt = new Date(now.getTime() + ((expiresAt.getTime() - now.getTime()) * 2) / 3);
  const { name, namespace } = cluster.metadata;
  const kubeconfig = composeKubeconfig({
    cluster: name,
    user: `${name}-admin`,
    server: basis.server,
    ca: ca.certificate,
    credential,
  });
  const value = Buffer.from(kubeconfig).toString("base64");
  return {
    apiVersion: "v1",
    kind: secretKind.kind,
    metadata: {
      name: nameAdminSecret(name),
      ...(namespace !== undefined && { namespace }),
      labels: { [LABEL_CREDENTIAL]: "admin-kubeconfig", [LABEL_CLUSTER_ID]: basis.clusterId },
      annotations: {
        [ANNOTATION_BASIS]: hashBasis(basis, ca.certificate),
        [ANNOTATION_RENEW_AT]: renewAt.toISOString(),
        [ANNOTATION_CONTENT]: fingerprint(value),
        [ANNOTATION_CA_REVISION]: ca.revision,
        ...(capiUidOf(basis) !== undefined && { [ANNOTATION_CAPI_UID]: basis.capiUid }),
      },
      ownerReferences: [composeOwnerReference(cluster)],
    },
    type: "Opaque",
    data: { value },
  };
}

/**
 * The CA's certificate (PEM) in a kubeconfig issued here (base64); undefined when it has none. Its line is found without
 * reading the rest, which is a private key. Quotes are no base64, and skipped.
 */
export function readCaCertificate(value: string): string | undefined {
  const kubeconfig = Buffer.from(value, "base64");
  const from = kubeconfig.indexOf(CA_FIELD) + CA_FIELD.length;
  const to = kubeconfig.indexOf("\n", from);
  if (from < CA_FIELD.length || to < 0) return undefined;
  return Buffer.from(kubeconfig.toString("latin1", from, to), "base64").toString();
}

/** A short hash by which a change of a text is recognized. */
export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Keeps of an issued credential the CA's certificate (PEM), and a fingerprint instead of the content. */
export function trimCredential(secret: Secret): Secret {
  const value = secret.data?.value ?? readArgoCDContent(secret);
  const caCertificate = value === undefined ? undefined : readCaCertificate(value);
  return {
    ...secret,
    data: {
      ...(value !== undefined && { value: fingerprint(value) }),
      ...(caCertificate !== undefined && { "ca.crt": caCertificate }),
    },
  };
}

/** The content of a cluster Secret of Argo CD, which has several keys; undefined for another Secret. */
export function readArgoCDContent({ data }: Secret): string | undefined {
  return data?.config === undefined ? undefined : `${data.name} ${data.server} ${data.config}`;
}

function hashBasis(basis: KubeconfigBasis, caCertificate: string): string {
  const { clusterId, credentialsGeneration, server, accessSource } = basis;
  // What the key of the CA has signed is no reason to be issued again.
  const parts = [clusterId, credentialsGeneration, server, caCertificate];
  return fingerprint(JSON.stringify(accessSource === "ca" ? parts : [...parts, accessSource]));
}
