import type { Secret } from "../../shared/kube/core-kinds.ts";
import type { KubeObject } from "../../shared/kube/kind.ts";
import { LABEL_ENGINE_CLUSTER } from "../engine/kinds.ts";
import { readCaCertificate } from "./admin-kubeconfig.ts";
import { fingerprint } from "./fingerprint.ts";

/** Keeps of the Secret of a CA which version it is and whose, and of the engine's other Secrets nothing at all. */
export function trimAuthority({ apiVersion, kind, metadata }: KubeObject): KubeObject | undefined {
  if (!metadata.name.endsWith("-ca")) return undefined;
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

/** Keeps of an issued credential the CA's certificate (PEM), and a fingerprint in place of its content. */
export function trimCredential(secret: Secret): Secret {
  const value = secret.data?.value;
  const caCertificate = value === undefined ? undefined : readCaCertificate(value);
  return {
    ...secret,
    data: {
      ...(value !== undefined && { value: fingerprint(value) }),
      ...(caCertificate !== undefined && { "ca.crt": caCertificate }),
    },
  };
}
