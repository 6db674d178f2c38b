import { AUDIENCE } from "../stack/users.ts";
import {
  API_URL,
  CLUSTER_CLASS,
  ISSUER,
  type KindSettings,
  KUBERNETES_VERSIONS,
  PLATFORM_NAMESPACE,
} from "./settings.ts";

/** The values of the release of charts/marina. */
export function composeMarinaValues({ imageTag }: Pick<KindSettings, "imageTag">) {
  return {
    host: "localhost",
    publicUrl: API_URL,
    database: { existingSecret: "marina-database" },
    webhooks: { existingSecret: "marina-webhook-keys" },
    oidc: { issuers: [{ issuer: ISSUER, audience: AUDIENCE, admin: true, trustEmail: true }] },
    caBundleConfigMap: "development-ca",
    image: { repository: "marina/marina", tag: imageTag, pullPolicy: "Never" },
    plans: {
      default: { class: CLUSTER_CLASS, namespace: PLATFORM_NAMESPACE, controlPlaneReplicas: 1 },
    },
    kubernetesVersions: KUBERNETES_VERSIONS.map((version) => ({ version, status: "supported" })),
    // Requests come through a port of the node, which belongs to no namespace that a policy could name.
    networkPolicies: { enabled: false },
  };
}

/** The values of the release of charts/marina-classes. */
export function composeClassValues() {
  return { docker: { enabled: true, name: CLUSTER_CLASS } };
}
