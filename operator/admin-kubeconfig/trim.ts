import type { Secret } from "../../shared/kube/core-kinds.ts";
import { fingerprint, readCaCertificate } from "./kubeconfig.ts";

/** Keeps of an issued credential the CA's certificate (PEM), and a fingerprint instead of the content. */
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
