import { parse } from "yaml";
import { z } from "zod";
import type { Cluster } from "../../shared/crd/cluster.ts";
import type { KubeClient } from "../../shared/kube/client.ts";
import { type Secret, secretKind } from "../../shared/kube/core-kinds.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { objectKey, toKey } from "../../shared/kube/object.ts";
import type { Change } from "../../shared/kube/reflector.ts";
import type { Store } from "../../shared/kube/store.ts";
import type { CacheSet, Enqueue } from "../caches.ts";
import { readCapiCluster } from "../capi/cluster-state.ts";
import type { CapiCluster } from "../capi/kinds.ts";
import {
  type AccessSecret,
  clusterOfAccessSecret,
  nameCaSecret,
  nameClientCaSecret,
  nameKubeconfigSecret,
  readCaSecret,
} from "../capi/secrets.ts";
import { isOwnerChanged } from "../identity/ownership.ts";

/**
 * By what the operator gets access to a tenant cluster. `ca`: the key that signs client certificates. `kubeconfig`:
 * Cluster API's own, for control planes whose key is not in the management cluster.
 */
export type AccessSourceKind = "ca" | "kubeconfig";

export interface AccessSource {
  kind: AccessSourceKind;
  /** The revision of the Secret. */
  revision: string;
}

/** The certificate of a tenant's CA (PEM), and the revision of the Secret that holds it. */
export interface CaCertificate {
  certificate: string;
  revision: string;
}

/** The CA of a tenant with its key (PEM). */
export interface CertificateAuthority extends CaCertificate {
  key: string;
}

/** Cluster API's access to a tenant: a client certificate (PEM), or a token. */
export interface CapiAccess {
  ca: CaCertificate;
  credential: { cert: string; key: string } | { token: string };
}

/** The uid of the Cluster API cluster whose CA an admin kubeconfig holds: that cluster never gets another CA. */
export const ANNOTATION_CAPI_UID = "cloud.marina.dev/credential-engine";
/** The revision of the CA's Secret whose certificate was last found equal to that in an admin kubeconfig. */
export const ANNOTATION_CA_REVISION = "cloud.marina.dev/credential-authority";
/** The uid of the Cluster API cluster, and the revision of its CA's Secret that holds another CA than its admin kubeconfig. */
export const ANNOTATION_LOST_CA = "cloud.marina.dev/lost-authority";

/** The CA that a cluster is known to have, by its admin kubeconfig. */
type HeldCa =
  | { kind: "current"; certificate: string }
  /** The admin kubeconfig is still that of an earlier Cluster API cluster, whose CA may be another one. */
  | { kind: "former" }
  /** There is none, its CA is lost, or may change at any time. */
  | { kind: "unknown" };

/** Reads from the trimmed admin kubeconfig of a cluster which CA that has. PEM. */
export function findHeldCa(
  credential: Secret | undefined,
  { accessSource, capiUid }: { accessSource: AccessSource; capiUid: string },
): HeldCa {
  const annotations = credential?.metadata.annotations ?? {};
  const heldUid = annotations[ANNOTATION_CAPI_UID];
  const certificate = credential?.data?.["ca.crt"];
  if (accessSource.kind !== "ca" || heldUid === undefined || certificate === undefined)
    return { kind: "unknown" };
  if (heldUid !== capiUid) return { kind: "former" };
  const isLost =
    annotations[ANNOTATION_LOST_CA]?.startsWith(`${capiUid} `) === true &&
    annotations[ANNOTATION_CA_REVISION] !== accessSource.revision;
  return isLost ? { kind: "unknown" } : { kind: "current", certificate };
}

export interface AccessCaches {
  clusterSecrets: Pick<Store<AccessSecret>, "get">;
}

/**
 * The access source of `key`, "namespace/cluster"; undefined while there is none. A CA for servers only signs no client,
 * and a CA without its key signs nothing; without a kubeconfig such a CA is returned all the same, so that the missing
 * key is reported.
 */
export function findAccessSource({ clusterSecrets }: AccessCaches, key: string): AccessSource | undefined {
  const isForClients = clusterSecrets.get(nameClientCaSecret(key)) === undefined;
  const ca = isForClients ? clusterSecrets.get(nameCaSecret(key)) : undefined;
  const kubeconfig = clusterSecrets.get(nameKubeconfigSecret(key));
  if (ca !== undefined && (ca.lacksKey !== true || kubeconfig === undefined)) {
    return { kind: "ca", revision: revisionOf(ca.metadata) };
  }
  return kubeconfig && { kind: "kubeconfig", revision: revisionOf(kubeconfig.metadata) };
}

/** Identifies the content of a Secret: another revision may hold another certificate, or the same one. */
export function revisionOf({ uid, resourceVersion }: ObjectMeta): string {
  return `${uid}/${resourceVersion}`;
}

interface SecretReaderDeps {
  client: Pick<KubeClient, "get">;
}

/** Reads the current CA of a cluster. Rejects when there is none. */
export async function readCertificateAuthority(
  deps: SecretReaderDeps,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<CertificateAuthority> {
  const secretName = nameCaSecret(cluster.metadata.name);
  const secret = await readSecret(deps, cluster, secretName, signal);
  const ca = secret && readCaSecret(secret);
  if (secret === undefined || ca === undefined) {
    throw new Error("Cluster API's certificate of the CA or its key is missing");
  }
  return { ...ca, revision: revisionOf(secret.metadata) };
}

/** Reads Cluster API's kubeconfig of a cluster. Rejects when there is none, or one that needs more than itself. */
export async function readCapiAccess(
  deps: SecretReaderDeps,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<CapiAccess> {
  const secretName = nameKubeconfigSecret(cluster.metadata.name);
  const secret = await readSecret(deps, cluster, secretName, signal);
  const value = secret?.data?.value;
  try {
    const { ca, credential } = parseKubeconfig(Buffer.from(value ?? "", "base64").toString());
    return { ca: { certificate: ca, revision: revisionOf(secret?.metadata ?? { name: "" }) }, credential };
  } catch (error) {
    throw new Error("Cluster API's kubeconfig is missing or cannot be used", { cause: error });
  }
}

const base64 = z.base64().transform((text) => Buffer.from(text, "base64").toString());
/** Nothing that names a file, a program or a proxy: who may write the Secret would run it in the operator. */
const kubeconfigSchema = z.object({
  "current-context": z.string(),
  clusters: z
    .array(z.object({ name: z.string(), cluster: z.object({ "certificate-authority-data": base64 }) }))
    .max(10),
  users: z
    .array(
      z.object({
        name: z.string(),
        user: z.object({
          "client-certificate-data": base64.optional(),
          "client-key-data": base64.optional(),
          token: z
            .string()
            .regex(/^[\x21-\x7e]+$/)
            .optional(),
        }),
      }),
    )
    .max(10),
  contexts: z
    .array(z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) }))
    .max(10),
});

/**
 * The CA and the credential of the current context. Throws an Error for a kubeconfig that has no CA, or neither a
 * client certificate with its key nor a token.
 */
export function parseKubeconfig(text: string): { ca: string; credential: CapiAccess["credential"] } {
  const config = kubeconfigSchema.parse(parse(text));
  const context = config.contexts.find(({ name }) => name === config["current-context"])?.context;
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users.find(({ name }) => name === context?.user)?.user;
  if (cluster === undefined || user === undefined) throw new Error("its current context is not complete");
  const ca = cluster["certificate-authority-data"];
  const { "client-certificate-data": cert, "client-key-data": key, token } = user;
  if (cert !== undefined && key !== undefined) return { ca, credential: { cert, key } };
  if (token !== undefined) return { ca, credential: { token } };
  throw new Error("it has neither a client certificate with its key nor a token");
}

function readSecret(
  { client }: SecretReaderDeps,
  { metadata }: Cluster,
  name: string,
  signal: AbortSignal,
): Promise<Secret | undefined> {
  return client.get(secretKind, metadata.namespace, name, { signal });
}

/**
 * Whether the owner, the endpoint or the availability of a tenant's API server changed. Every reconcile of an access
 * or of the bindings connects to it: no other change is worth that.
 */
export function isTenantChanged(change: Change<CapiCluster>): boolean {
  const { previous, object } = change;
  return isOwnerChanged(change) || previous === undefined || summarize(previous) !== summarize(object);
}

/** Adds each cluster of which the tenant's API server or the access to it may have changed. */
export function enqueueByTenantAccess(cacheSet: Pick<CacheSet, "caches" | "listen">, add: Enqueue): void {
  cacheSet.listen("capiClusters", (change) => {
    if (isTenantChanged(change)) add(objectKey(change.object), change);
  });
  cacheSet.listen("clusterSecrets", (change) => {
    const cluster = findChangedAccessSource(cacheSet.caches, change.object);
    if (cluster !== undefined) add(cluster, change);
  });
}

/**
 * The key of the cluster whose access depends on this Secret; undefined for another one, and for Cluster API's
 * kubeconfig of a cluster that has a CA.
 */
function findChangedAccessSource(caches: AccessCaches, { metadata }: KubeObject): string | undefined {
  const cluster = clusterOfAccessSecret(metadata);
  if (cluster === undefined) return undefined;
  const key = toKey(metadata.namespace, cluster);
  const isUnused =
    metadata.name === nameKubeconfigSecret(cluster) && findAccessSource(caches, key)?.kind === "ca";
  return isUnused ? undefined : key;
}

function summarize(cluster: CapiCluster): string {
  const { endpoint, controlPlaneInitialized, controlPlaneAvailability } = readCapiCluster(cluster);
  return `${endpoint?.url} ${controlPlaneInitialized} ${controlPlaneAvailability}`;
}
