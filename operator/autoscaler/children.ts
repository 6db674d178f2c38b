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
const ANNOTATION_KUBECONFIG = "cloud.marina.dev/kubeconfig-revision";
/** Answers /health-check, and fails when the loop of the autoscaler stands still. */
const HEALTH_PORT = 8085;
const KUBECONFIG_DIR = "/etc/kubernetes/cluster";

type PodSpec = NonNullable<NonNullable<Deployment["spec"]>["template"]["spec"]>;
type ContainerSpec = PodSpec["containers"][number];

/** Where the Pods of autoscalers run, as whom and with how much, as Kubernetes has it. What is left out is Kubernetes' default. */
export interface AutoscalerPod
  extends Pick<PodSpec, "nodeSelector" | "tolerations" | "affinity" | "priorityClassName"> {
  podSecurityContext?: NonNullable<PodSpec["securityContext"]>;
  containerSecurityContext?: NonNullable<ContainerSpec["securityContext"]>;
  resources?: NonNullable<ContainerSpec["resources"]>;
}

/** What they are without a setting. */
const DEFAULT_POD: AutoscalerPod = {
  podSecurityContext: {
    runAsNonRoot: true,
    runAsUser: 65_532,
    seccompProfile: { type: "RuntimeDefault" },
  },
  containerSecurityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
  resources: { requests: { cpu: "20m", memory: "128Mi" }, limits: { memory: "600Mi" } },
};

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

/** What an autoscaler is made of besides its cluster. */
export interface AutoscalerInput {
  image: string;
  /** The version of the Secret with the tenant's kubeconfig, which the autoscaler reads once; undefined = there is none yet. */
  kubeconfigRevision: string | undefined;
  defaults: PoolDefaults;
  /** Default: `DEFAULT_POD`. */
  pod?: AutoscalerPod | undefined;
}

/**
 * `{minor}` in the name of an image is the minor version of the cluster: https://github.com/kubernetes/autoscaler,
 * "Releases".
 */
const MINOR = "{minor}";

/** The image for a cluster that runs this Kubernetes version; undefined while the version is needed and not known. */
export function chooseAutoscalerImage(image: string, version: string | undefined): string | undefined {
  if (!image.includes(MINOR)) return image;
  const minor = version?.split(".").slice(0, 2).join(".");
  return minor === undefined ? undefined : image.replaceAll(MINOR, minor);
}

/**
 * The cluster autoscaler of one cluster: a Deployment in the organization's namespace, and its permissions there. It
 * reads the management cluster as its ServiceAccount and the tenant's with Cluster API's kubeconfig, which the
 * platform's own programs may use. Flags: cluster-autoscaler/cloudprovider/clusterapi/README.md.
 */
export function composeAutoscaler(
  cluster: Cluster,
  clusterId: string,
  input: AutoscalerInput,
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
  const deployment = composeDeployment(cluster, metadata, input);
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
  { image, kubeconfigRevision, defaults, pod = DEFAULT_POD }: AutoscalerInput,
): Deployment {
  const { podSecurityContext, containerSecurityContext, resources, ...placement } = pod;
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
        metadata: {
          labels,
          // With another kubeconfig the Pod is replaced: it would go on with the one that ends.
          ...(kubeconfigRevision && { annotations: { [ANNOTATION_KUBECONFIG]: kubeconfigRevision } }),
        },
        spec: {
          serviceAccountName: metadata.name,
          ...placement,
          ...(podSecurityContext && { securityContext: podSecurityContext }),
          containers: [
            {
              ...composeContainer(cluster, image, defaults),
              ...(containerSecurityContext && { securityContext: containerSecurityContext }),
              ...(resources && { resources }),
            },
          ],
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
    livenessProbe: {
      httpGet: { path: "/health-check", port: HEALTH_PORT },
      initialDelaySeconds: 30,
      periodSeconds: 20,
      timeoutSeconds: 5,
    },
    volumeMounts: [{ name: "kubeconfig", mountPath: KUBECONFIG_DIR, readOnly: true }],
  };
}
