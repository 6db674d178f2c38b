import { PROXIED, type Values } from "./chart.ts";

/** The definitions of custom resources are large, and the same whatever the values are. */
export const WITHOUT_DEFINITIONS = { crds: { enabled: false } };

const digest = `sha256:${"0".repeat(64)}`;

/** Where Pods run, for each of those of the chart. */
export const PLACED = {
  nodeSelector: { role: "platform" },
  tolerations: [{ key: "platform", operator: "Exists" }],
  affinity: { nodeAffinity: {} },
  priorityClassName: "system-cluster-critical",
};

/** Installations of the chart marina: what each sets besides the required values. */
export const VALUE_SETS: readonly [string, Values][] = [
  ["the definitions of custom resources too", { crds: { enabled: true } }],
  ["the required values alone", {}],
  ["one replica of each program", { apiserver: { replicas: 1 }, operator: { replicas: 1 } }],
  ["five replicas of each program", { apiserver: { replicas: 5 }, operator: { replicas: 5 } }],
  ["an autoscaled API server", { apiserver: { autoscaling: { enabled: true } } }],
  ["an Ingress without TLS", { ...PROXIED, ingress: { enabled: true } }],
  ["an Ingress with TLS", { ...PROXIED, ingress: { enabled: true, className: "a", tlsSecret: "tls" } }],
  ["an HTTPRoute", { ...PROXIED, httpRoute: { enabled: true, parentRefs: [{ name: "public" }] } }],
  ["an image by digest", { image: { repository: "registry.example.com/marina", digest } }],
  [
    "a registry without internet",
    {
      image: { repository: "10.0.0.5/marina", pullPolicy: "Always" },
      imagePullSecrets: [{ name: "registry" }],
    },
  ],
  ["a bundle of certificate authorities", { caBundleConfigMap: "company-ca" }],
  ["without network policies", { networkPolicies: { enabled: false } }],
  [
    "network policies for two namespaces",
    {
      networkPolicies: {
        clients: { matchLabels: { name: "ingress" } },
        monitoring: { matchLabels: { name: "monitoring" } },
      },
    },
  ],
  ["without roles for people", { roles: { enabled: false } }],
  ["monitoring", { monitoring: { enabled: true, labels: { release: "prometheus" } } }],
  ["dashboards without the Prometheus operator", { monitoring: { dashboards: true } }],
  [
    "two issuers",
    {
      oidc: {
        issuers: [
          { issuer: "https://a.example.com", audience: "a", admin: true },
          { issuer: "https://b.example.com", audience: "b", trustEmail: true },
        ],
      },
    },
  ],
  [
    "plans of their own",
    {
      plans: {
        default: { class: "small", controlPlaneReplicas: 1 },
        large: { class: "large", namespace: "classes", controlPlaneReplicas: 5 },
      },
    },
  ],
  [
    "networks of their own",
    {
      networks: {
        platform: ["10.0.0.0/8", "fd00::/8"],
        nodes: "10.200.0.0/16",
        pods: "10.1.0.0/16,fd01::/48",
        services: "",
      },
    },
  ],
  [
    "more environment, volumes, labels and annotations",
    {
      apiserver: {
        extraEnv: [{ name: "MARINA_LOG_LEVEL", value: "debug" }],
        extraVolumes: [{ name: "more", emptyDir: {} }],
        extraVolumeMounts: [{ name: "more", mountPath: "/more" }],
        podLabels: { team: "platform" },
        podAnnotations: { "example.com/owner": "platform" },
      },
    },
  ],
  [
    "a database with other keys and another role",
    { database: { existingSecret: "db", urlKey: "app", ownerUrlKey: "admin", apiserverRole: "app" } },
  ],
  [
    "a database of CloudNativePG",
    {
      database: {
        cloudNativePG: {
          enabled: true,
          apiserverSecret: "api-database",
          imageName: "registry.example.com/postgresql:18",
          storage: { size: "50Gi", storageClass: "fast" },
          resources: { requests: { cpu: 2, memory: "4Gi" } },
        },
      },
    },
  ],
  ["Namespaces of deleted organizations removed", { apiserver: { removeEndedNamespaces: true } }],
  ["keys for webhooks", { webhooks: { existingSecret: "marina-webhook-keys" } }],
  [
    "a shared storage of folders",
    {
      sharedStorage: {
        driver: "directory",
        defaultQuotaGB: 50,
        directory: { existingClaim: "marina-shared-storage" },
      },
    },
  ],
  [
    "a shared storage of Ceph",
    {
      sharedStorage: {
        driver: "ceph",
        ceph: { url: "https://ceph.example.com:8443", existingSecret: "marina-ceph" },
      },
    },
  ],
  ["a store of attachments", { attachments: { existingSecret: "marina-attachments" } }],
  ["a container registry", { registry: { existingSecret: "marina-registry" } }],
  [
    "a scanner of images",
    {
      registry: { existingSecret: "marina-registry" },
      scanner: { enabled: true, image: { repository: "registry.example.com/scanner" } },
      monitoring: { enabled: true },
    },
  ],
  [
    "three scanners with an image and nodes of their own",
    {
      registry: { existingSecret: "marina-registry" },
      scanner: {
        enabled: true,
        replicas: 3,
        image: { repository: "registry.example.com/marina-scanner", digest },
        nodeSelector: { role: "scanner" },
        extraEnv: [{ name: "MARINA_LOG_LEVEL", value: "debug" }],
      },
      caBundleConfigMap: "company-ca",
    },
  ],
  ["an issuer of invoices", { invoicing: { supplier: { name: "Example GmbH" }, vatRates: { DE: 19 } } }],
  ["a public address with a port", { publicUrl: "https://api.example.com:8443" }],
  [
    "OpenShift, which chooses the users of Pods",
    {
      podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
      serviceAccount: { create: false },
      extraObjects: [
        {
          apiVersion: "v1",
          kind: "ServiceAccount",
          metadata: { name: "marina-apiserver", namespace: "{{ .Release.Namespace }}" },
        },
      ],
    },
  ],
  [
    "no access to the internet",
    {
      image: { repository: "registry.internal:5000/marina/marina", digest },
      imagePullSecrets: [{ name: "internal" }],
      caBundleConfigMap: "internal-ca",
      operator: { clusterAutoscalerImage: "registry.internal:5000/cluster-autoscaler:v{minor}.0" },
      database: {
        existingSecret: "",
        cloudNativePG: {
          enabled: true,
          apiserverSecret: "api-database",
          imageName: "registry.internal:5000/postgresql:18",
        },
      },
      commonLabels: { zone: "internal" },
    },
  ],
  [
    "high availability",
    {
      apiserver: {
        replicas: 3,
        autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 12 },
        affinity: { podAntiAffinity: {} },
        priorityClassName: "system-cluster-critical",
      },
      operator: { replicas: 3, priorityClassName: "system-cluster-critical" },
      database: {
        existingSecret: "",
        cloudNativePG: {
          enabled: true,
          instances: 5,
          apiserverSecret: "api-database",
          affinity: { enablePodAntiAffinity: true, topologyKey: "topology.kubernetes.io/zone" },
        },
      },
    },
  ],
  ["no image of the autoscaler", { operator: { clusterAutoscalerImage: "" } }],
  [
    "Secrets of another operator, as objects of the release",
    {
      database: { existingSecret: "synced-database" },
      webhooks: { existingSecret: "synced-keys" },
      extraObjects: [
        "apiVersion: v1\nkind: Secret\nmetadata: {name: synced-database}\nstringData: {url: a, ownerUrl: b}",
        { apiVersion: "v1", kind: "Secret", metadata: { name: "synced-keys" }, stringData: { keys: "{}" } },
      ],
    },
  ],
  [
    "a cloud's load balancer and workload identity",
    {
      apiserver: {
        service: {
          type: "LoadBalancer",
          annotations: { "example.com/scheme": "internal" },
          loadBalancerClass: "example.com/internal",
          loadBalancerSourceRanges: ["10.0.0.0/8"],
          externalTrafficPolicy: "Local",
        },
        serviceAccountAnnotations: { "example.com/role": "marina" },
      },
      monitoring: { serviceAnnotations: { "prometheus.io/scrape": "true" } },
    },
  ],
  [
    "nodes of the platform for every Pod",
    {
      ...Object.fromEntries(
        ["apiserver", "operator", "scanner", "migrate", "hooks", "autoscaler"].map((name) => [name, PLACED]),
      ),
      registry: { existingSecret: "marina-registry" },
      scanner: { ...PLACED, enabled: true, image: { repository: "registry.example.com/scanner" } },
    },
  ],
  [
    "Argo CD, which makes a Job again that is gone",
    { migrate: { ttlSecondsAfterFinished: null, podAnnotations: { "sidecar.istio.io/inject": "false" } } },
  ],
];
