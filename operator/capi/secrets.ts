import type { Secret } from "../../shared/kube/core-kinds.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { capiClusterNameOf, LABEL_CAPI_CLUSTER } from "./kinds.ts";

const CA_SUFFIX = "-ca";
/** k3s and RKE2 have another CA for clients than for servers. */
const CLIENT_CA_SUFFIX = "-cca";
const KUBECONFIG_SUFFIX = "-kubeconfig";
const SUFFIXES = [CA_SUFFIX, CLIENT_CA_SUFFIX, KUBECONFIG_SUFFIX];

/** The name of the Secret with a cluster's CA; of "namespace/cluster" it makes "namespace/name". */
export function nameCaSecret(cluster: string): string {
  return `${cluster}${CA_SUFFIX}`;
}

/** The name of the Secret with the CA of a cluster's clients, where that is another one; as `nameCaSecret`. */
export function nameClientCaSecret(cluster: string): string {
  return `${cluster}${CLIENT_CA_SUFFIX}`;
}

/** The name of the Secret with Cluster API's own kubeconfig of a cluster, under the key `value`; as `nameCaSecret`. */
export function nameKubeconfigSecret(cluster: string): string {
  return `${cluster}${KUBECONFIG_SUFFIX}`;
}

/**
 * The cluster that this Secret gives access to: its CAs and Cluster API's kubeconfig; undefined for any other Secret.
 */
export function clusterOfAccessSecret(metadata: ObjectMeta): string | undefined {
  const cluster = capiClusterNameOf(metadata);
  if (cluster === undefined) return undefined;
  return SUFFIXES.some((suffix) => metadata.name === `${cluster}${suffix}`) ? cluster : undefined;
}

/** The CA with its key, both PEM; undefined when the Secret lacks one of them. */
export function readCaSecret({ data }: Secret): { certificate: string; key: string } | undefined {
  const { "tls.crt": certificate, "tls.key": key } = data ?? {};
  if (certificate === undefined || key === undefined) return undefined;
  return { certificate: decode(certificate), key: decode(key) };
}

/** A Secret of a CA or of a kubeconfig, without its content. */
export interface AccessSecret extends KubeObject {
  /** It holds the certificate of a CA without the key. */
  lacksKey?: true;
}

/**
 * Keeps the identity, the version and the owners of the Secrets of CAs and kubeconfigs, and whether a CA comes with its
 * key; of Cluster API's other Secrets nothing. Expects metadata with managedFields: the content is never read for it.
 */
export function trimAccessSecret({ apiVersion, kind, metadata }: KubeObject): AccessSecret | undefined {
  if (!SUFFIXES.some((suffix) => metadata.name.endsWith(suffix))) return undefined;
  const { name, namespace, uid, resourceVersion, labels, ownerReferences } = metadata;
  const cluster = labels?.[LABEL_CAPI_CLUSTER];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      ...(cluster && { labels: { [LABEL_CAPI_CLUSTER]: cluster } }),
      ...(ownerReferences && { ownerReferences }),
    },
    ...(lacksKey(metadata) && { lacksKey: true }),
  };
}

/**
 * The Kubernetes API records each key of a Secret's data: https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
function lacksKey({ managedFields = [] }: ObjectMeta): boolean {
  const fields = new Set(managedFields.flatMap(({ fieldsV1 }) => Object.keys(fieldsV1?.["f:data"] ?? {})));
  return fields.has("f:tls.crt") && !fields.has("f:tls.key");
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
