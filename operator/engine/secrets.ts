import type { Secret } from "../../shared/kube/core-kinds.ts";
import type { KubeObject, ObjectMeta } from "../../shared/kube/kind.ts";
import { engineClusterNameOf, LABEL_ENGINE_CLUSTER } from "./kinds.ts";

const CA_SUFFIX = "-ca";

/** The name of the Secret with a cluster's CA; of "namespace/cluster" it makes "namespace/name". */
export function nameCaSecret(cluster: string): string {
  return `${cluster}${CA_SUFFIX}`;
}

/** The name of the Secret with Cluster API's own kubeconfig of a cluster, under the key `value`. */
export function nameKubeconfigSecret(cluster: string): string {
  return `${cluster}-kubeconfig`;
}

/** The cluster whose CA this Secret holds; undefined for any other Secret. */
export function clusterOfCaSecret(metadata: ObjectMeta): string | undefined {
  const cluster = engineClusterNameOf(metadata);
  return cluster !== undefined && metadata.name === nameCaSecret(cluster) ? cluster : undefined;
}

/** The CA with its key, both PEM; undefined when the Secret lacks one of them. */
export function readCaSecret({ data }: Secret): { certificate: string; key: string } | undefined {
  const { "tls.crt": certificate, "tls.key": key } = data ?? {};
  if (certificate === undefined || key === undefined) return undefined;
  return { certificate: decode(certificate), key: decode(key) };
}

/** Keeps the identity and the version of a CA's Secret; of Cluster API's other Secrets nothing. */
export function trimCaSecret({ apiVersion, kind, metadata }: KubeObject): KubeObject | undefined {
  if (!metadata.name.endsWith(CA_SUFFIX)) return undefined;
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  const cluster = labels?.[LABEL_ENGINE_CLUSTER];
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      ...(cluster && { labels: { [LABEL_ENGINE_CLUSTER]: cluster } }),
    },
  };
}

function decode(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
