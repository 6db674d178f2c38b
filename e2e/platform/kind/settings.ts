import { join } from "node:path";
import type { Secrets } from "../stack/secrets.ts";

/** The version of all programs of Cluster API, also of those that the local stack is built from. */
export const CLUSTER_API_VERSION = "v1.14.0";
/** kind older than this cannot start the node image. */
export const OLDEST_KIND = "0.32.0";
/** Kubernetes on offer, whose node images the pinned Cluster API knows; the first cluster has the last. */
export const KUBERNETES_VERSIONS = ["1.34.8", "1.35.5"];

export const IMAGES = {
  postgres: "postgres:18.4",
  node: "node:24.21.0-bookworm-slim",
};

/** The name in kind-config.yaml. */
export const KIND_CLUSTER = "marina";
/** Namespace of the chart's release. */
export const PLATFORM_NAMESPACE = "marina-system";
/** Namespace of Postgres and the identity provider. */
export const DEVELOPMENT_NAMESPACE = "marina-development";
export const CLUSTER_CLASS = "marina-docker-v1";

/** The host ports and node ports of kind-config.yaml. */
export const PORTS = {
  api: { host: 8080, node: 30080 },
  identity: { host: 8443, node: 30443 },
};

export const API_URL = `http://localhost:${PORTS.api.host}`;
export const IDENTITY_HOST = `identity.${DEVELOPMENT_NAMESPACE}.svc`;
export const ISSUER = `https://${IDENTITY_HOST}`;

/** What a run directory keeps, so that a second run finds what the first made. */
export interface KeptSettings {
  dir: string;
  secrets: Secrets;
  /** In PEM, of the identity provider. */
  certificates: { ca: string; cert: string; key: string };
}

export interface KindSettings extends KeptSettings {
  /** Tag of the image that was built from this checkout: the beginning of its id. */
  imageTag: string;
  /** Digest of the files of each chart: a changed chart is installed again. */
  chartDigests: Record<"marina" | "marina-classes", string>;
}

export function kubeconfigOf(dir: string): string {
  return join(dir, "kubeconfig");
}
