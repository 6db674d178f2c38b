import { withAppliedHash } from "../../shared/controller/applied.ts";
import { type Cluster, clusterKind } from "../../shared/crd/cluster.ts";
import { ANNOTATION_APPLIED, LABEL_CLUSTER_ID } from "../../shared/crd/names.ts";
import {
  type Deployment,
  deploymentKind,
  type RbacRole,
  type RoleBinding,
  roleBindingKind,
  roleKind,
  type ServiceAccount,
  serviceAccountKind,
} from "../../shared/kube/core-kinds.ts";
import { apiVersionOf, type Kind } from "../../shared/kube/kind.ts";
import { nameKubeconfigSecret } from "../capi/secrets.ts";
import { AUTOSCALER_RULES, autoscalerArgs, type PoolDefaults } from "../capi/worker-pool.ts";

const SUFFIX = "-autoscaler";
const KUBECONFIG_DIR = "/etc/kubernetes/cluster";

/** The objects of one autoscaler. */
export interface AutoscalerChildren {
  serviceAccount: ServiceAccount;
  role: RbacRole;
  roleBinding: RoleBinding;
  deployment: Deployment;
}

/** The name that all objects of a cluster's autoscaler have; of "namespace/cluster" it makes "namespace/name". */
export function nameAutoscaler(cluster: string): string {
  return `${cluster}${SUFFIX}`;
}

/** The cluster that an object of an autoscaler belongs to; undefined for another object. */
export function clusterOfAutoscaler(name: string): string | undefined {
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : undefined;
}

/**
 * The cluster autoscaler of one cluster: a Deployment in the organization's namespace, and its permissions there. It reads
 * the management cluster as its ServiceAccount and the tenant's with Cluster API's kubeconfig, which the platform's own
 * programs may use. Flags: cluster-autoscaler/cloudprovider/clusterapi/README.md.
 */
export function composeAutoscaler(
  cluster: Cluster,
  clusterId: string,
  image: string,
  defaults: PoolDefaults,
): AutoscalerChildren {
  const metadata = composeMetadata(cluster, clusterId);
  const subject = { kind: "ServiceAccount", name: metadata.name, namespace: metadata.namespace };
  const serviceAccount: ServiceAccount = { ...typeOf(serviceAccountKind), metadata };
  const role: RbacRole = { ...typeOf(roleKind), metadata, rules: AUTOSCALER_RULES };
  const roleBinding: RoleBinding = {
    ...typeOf(roleBindingKind),
    metadata,
    roleRef: { apiGroup: roleKind.group, kind: roleKind.kind, name: metadata.name },
    subjects: [subject],
  };
  const deployment = composeDeployment(cluster, metadata, image, defaults);
  return {
    serviceAccount: withAppliedHash(serviceAccount, ANNOTATION_APPLIED),
    role: withAppliedHash(role, ANNOTATION_APPLIED),
    roleBinding: withAppliedHash(roleBinding, ANNOTATION_APPLIED),
    deployment: withAppliedHash(deployment, ANNOTATION_APPLIED),
  };
}

function typeOf(kind: Kind<unknown>) {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

function composeMetadata(cluster: Cluster, clusterId: string) {
  const { name, namespace = "", uid = "" } = cluster.metadata;
  return {
    name: nameAutoscaler(name),
    namespace,
    labels: { [LABEL_CLUSTER_ID]: clusterId },
    ownerReferences: [{ ...typeOf(clusterKind), name, uid, controller: true }],
  };
}

function composeDeployment(
  cluster: Cluster,
  metadata: ReturnType<typeof composeMetadata>,
  image: string,
  defaults: PoolDefaults,
): Deployment {
  const labels = { "app.kubernetes.io/name": "cluster-autoscaler", ...metadata.labels };
  return {
    ...typeOf(deploymentKind),
    metadata,
    spec: {
      replicas: 1,
      // Two at once would scale against each other.
      strategy: { type: "Recreate" },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: metadata.name,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            seccompProfile: { type: "RuntimeDefault" },
          },
          containers: [composeContainer(cluster, image, defaults)],
          volumes: [
            { name: "kubeconfig", secret: { secretName: nameKubeconfigSecret(cluster.metadata.name) } },
          ],
        },
      },
    },
  };
}

function composeContainer(cluster: Cluster, image: string, defaults: PoolDefaults) {
  const { name, namespace = "" } = cluster.metadata;
  return {
    name: "cluster-autoscaler",
    image,
    command: ["/cluster-autoscaler"],
    args: [
      ...autoscalerArgs(namespace, name, `${KUBECONFIG_DIR}/value`),
      "--enforce-node-group-min-size=true",
      `--scale-down-unneeded-time=${defaults.scaleDownDelaySeconds}s`,
      `--scale-down-utilization-threshold=${defaults.scaleDownUtilizationPercent / 100}`,
      "--leader-elect=false",
    ],
    resources: { requests: { cpu: "20m", memory: "128Mi" }, limits: { memory: "600Mi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    },
    volumeMounts: [{ name: "kubeconfig", mountPath: KUBECONFIG_DIR, readOnly: true }],
  };
}
