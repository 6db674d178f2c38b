import { stringify } from "yaml";

/** A client certificate and its key (PEM), or a bearer token. */
export type KubeconfigCredential = { certificate: string; key: string } | { token: string };

export interface KubeconfigParts {
  /** Name of the cluster, and of its context. */
  cluster: string;
  /** Name of the user. */
  user: string;
  /** "https://host:port" */
  server: string;
  /** The CA of the server (PEM). */
  ca: string;
  credential: KubeconfigCredential;
}

/**
 * A kubeconfig with one context, as YAML with each string in quotes: kubectl reads YAML 1.1, where `on`, `1e3` and
 * `2026-11-27`, all of them names of objects, are no strings otherwise. Each value stands on the line of its key.
 */
export function composeKubeconfig({ cluster, user, server, ca, credential }: KubeconfigParts): string {
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: cluster, cluster: { server, "certificate-authority-data": encode(ca) } }],
    users: [{ name: user, user: toUser(credential) }],
    contexts: [{ name: cluster, context: { cluster, user } }],
    "current-context": cluster,
  };
  return stringify(kubeconfig, { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN", lineWidth: 0 });
}

function toUser(credential: KubeconfigCredential) {
  if ("token" in credential) return { token: credential.token };
  const { certificate, key } = credential;
  return { "client-certificate-data": encode(certificate), "client-key-data": encode(key) };
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
