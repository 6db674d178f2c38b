import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { OLDEST_VERSION } from "../../shared/kube/server-version.ts";
import { OPERATOR_HEAP_GROWTH } from "../platform/stack/marina.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import {
  PROXIED,
  pathOfChart,
  REQUIRED_VALUES,
  renderChart,
  runHelm,
  type Values,
} from "../testing/chart.ts";
import { installForeignDefinitions } from "../testing/infrastructure-provider.ts";
import { type Kubeconform, openKubeconform } from "../testing/kubeconform.ts";

const NAMESPACE = "marina-chart-test";
const folder = mkdtempSync(join(tmpdir(), "marina-chart-"));
let kubeconform: Kubeconform;

beforeAll(async () => {
  await kubectl(["create", "namespace", NAMESPACE]);
  await installForeignDefinitions();
  kubeconform = await openKubeconform(folder);
  // No Pod is admitted without it.
  await waitFor("its default ServiceAccount", () =>
    kubectl(["get", "serviceaccount", "default", "--namespace", NAMESPACE]),
  );
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
});

const render = (values: Values) => renderChart("marina", NAMESPACE, { ...REQUIRED_VALUES, ...values });

/** They are large, and the same whatever the values are. */
const WITHOUT_DEFINITIONS = { crds: { enabled: false } };

const digest = `sha256:${"0".repeat(64)}`;

describe("every object is accepted by the Kubernetes API, and names no field that its schema does not know", () => {
  test.each<[string, Values]>([
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
      "placement on nodes of their own",
      {
        apiserver: {
          nodeSelector: { role: "platform" },
          tolerations: [{ key: "platform", operator: "Exists" }],
          priorityClassName: "system-cluster-critical",
        },
        operator: { affinity: { nodeAffinity: {} } },
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
  ])("%s", async (_, values) => {
    const { objects } = await render({ ...WITHOUT_DEFINITIONS, ...values });
    expect(await kubeconform.findFaults(objects)).toEqual([]);
    const text = objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join("---\n");
    const applying = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename", "-"];
    const { stdout } = await kubectl([...applying, "--namespace", NAMESPACE], { stdin: text });
    expect(stdout.trim().split("\n")).toHaveLength(objects.length);
  });
});

test("no role grants everything of something, but for reading machines and control planes of any provider", async () => {
  const { objects } = await render({});
  const rules = objects
    .filter(({ kind }) => kind.endsWith("Role"))
    .flatMap(({ metadata, rules }) => rules.map((rule: object) => ({ role: metadata.name, ...rule })));
  const wildcards = rules.filter((rule) => JSON.stringify(rule).includes('"*"'));
  const reads = { resources: ["*"], verbs: ["get", "list", "watch"] };
  const [controlPlanes, machines] = ["controlplane.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io"];
  expect(wildcards).toEqual([
    { role: "marina-operator", apiGroups: [machines], ...reads },
    { role: "marina-engineer", apiGroups: [controlPlanes, machines], ...reads },
  ]);
});

test("the heap of a program is three quarters of its memory limit", async () => {
  const { text } = await render({ operator: { resources: { limits: { memory: "2Gi" } } } });
  expect(text).toContain("--max-old-space-size=1536");
  expect(text).toContain("--max-old-space-size=1152");
});

test("the operator is started with the flags of Node that its image was tested with", async () => {
  const { text } = await render({});
  expect(text).toContain(`args: [${OPERATOR_HEAP_GROWTH}, operator]`);
});

test("the chart names no namespace but the release's, and refuses a Kubernetes that the programs refuse", async () => {
  const { text } = await render({});
  expect(text).not.toContain("marina-system");
  const oldest = `${OLDEST_VERSION.major}.${OLDEST_VERSION.minor}`;
  const template = ["template", "marina", pathOfChart("marina")];
  await runHelm([...template, "--kube-version", `${oldest}.0`], REQUIRED_VALUES);
  const older = `${OLDEST_VERSION.major}.${OLDEST_VERSION.minor - 1}.9`;
  await expect(runHelm([...template, "--kube-version", older], REQUIRED_VALUES)).rejects.toThrow(
    `chart requires kubeVersion: >=${oldest}.0-0 which is incompatible with Kubernetes v${older}`,
  );
});

test("definitions of custom resources stay when the release is uninstalled", async () => {
  const { objects } = await render({});
  const definitions = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
  expect(definitions).toHaveLength(4);
  for (const { metadata } of definitions)
    expect(metadata).toMatchObject({ annotations: { "helm.sh/resource-policy": "keep" } });
});
