import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { kubectl, readStack } from "../stack/testing.ts";

const run = promisify(execFile);
const CHART = join(import.meta.dirname, "..", "..", "charts", "marina");
const NAMESPACE = "marina-chart-test";
/** Their definitions belong to others, and the stack has none of them. */
const FOREIGN_KINDS = ["ServiceMonitor", "PrometheusRule", "HTTPRoute"];

const stack = readStack();
const folder = mkdtempSync(join(tmpdir(), "marina-chart-"));

beforeAll(() => kubectl(["create", "namespace", NAMESPACE]));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await kubectl(["delete", "namespace", NAMESPACE, "--wait=false"]);
});

type Values = Record<string, unknown>;

interface Rendered {
  kind: string;
  metadata: { name: string; namespace?: string };
  // biome-ignore lint/suspicious/noExplicitAny: whatever a test looks at
  [field: string]: any;
}

const REQUIRED = {
  host: "api.example.com",
  database: { existingSecret: "marina-database" },
  oidc: { issuers: [{ issuer: "https://id.example.com", audience: "marina" }] },
};

function writeValues(values: Values): string {
  const file = join(folder, `${crypto.randomUUID()}.yaml`);
  writeFileSync(file, stringify(values));
  return file;
}

async function render(values: Values): Promise<{ text: string; objects: Rendered[] }> {
  const file = writeValues({ ...REQUIRED, ...values });
  await run(stack.helm, ["lint", "--strict", CHART, "--values", file]);
  const args = ["template", "marina", CHART, "--namespace", NAMESPACE, "--values", file];
  const { stdout } = await run(stack.helm, args, { maxBuffer: 16 * 1024 * 1024 });
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
  return { text: stdout, objects };
}

/** The message of the refusal to render these values. */
async function findRefusal(values: Values): Promise<string> {
  const args = ["template", "marina", CHART, "--values", writeValues(values)];
  return run(stack.helm, args).then(
    () => "",
    ({ stderr }: { stderr: string }) => stderr,
  );
}

const digest = `sha256:${"0".repeat(64)}`;

describe("every object is accepted by the Kubernetes API", () => {
  test.each<[string, Values]>([
    ["the three required values alone", {}],
    ["one replica of each program", { apiserver: { replicas: 1 }, operator: { replicas: 1 } }],
    ["five replicas of each program", { apiserver: { replicas: 5 }, operator: { replicas: 5 } }],
    ["an autoscaled API server", { apiserver: { autoscaling: { enabled: true } } }],
    ["an Ingress without TLS", { ingress: { enabled: true } }],
    ["an Ingress with TLS", { ingress: { enabled: true, className: "nginx", tlsSecret: "api-tls" } }],
    [
      "an HTTPRoute",
      { httpRoute: { enabled: true, parentRefs: [{ name: "public", namespace: "gateways" }] } },
    ],
    ["an image by digest", { image: { repository: "registry.example.com/marina", digest } }],
    [
      "a registry without internet",
      {
        image: { repository: "10.0.0.5/marina", pullPolicy: "Always" },
        imagePullSecrets: [{ name: "registry" }],
      },
    ],
    ["a bundle of certificate authorities", { caBundleConfigMap: "company-ca" }],
    ["without the custom resource definitions", { crds: { enabled: false } }],
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
    ["an issuer of invoices", { invoicing: { supplier: { name: "Example GmbH" }, vatRates: { DE: 19 } } }],
    ["a public address with a port", { publicUrl: "https://api.example.com:8443" }],
  ])("%s", async (_, values) => {
    const { objects } = await render(values);
    const known = objects.filter(({ kind }) => !FOREIGN_KINDS.includes(kind));
    const text = known.map((object) => stringify(object, { aliasDuplicateObjects: false })).join("---\n");
    const applying = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename", "-"];
    const { stdout } = await kubectl([...applying, "--namespace", NAMESPACE], { stdin: text });
    expect(stdout.trim().split("\n")).toHaveLength(known.length);
  });
});

describe("values are refused", () => {
  test.each<[string, Values, RegExp]>([
    ["without a host", { ...REQUIRED, host: "" }, /host is required/],
    ["without a database", { ...REQUIRED, database: {} }, /database\.existingSecret is required/],
    ["without an issuer", { ...REQUIRED, oidc: {} }, /oidc\.issuers is required/],
    ["with an unknown name", { ...REQUIRED, replicas: 3 }, /'replicas' not allowed/],
    ["with an unknown name below", { ...REQUIRED, apiserver: { replica: 3 } }, /'replica' not allowed/],
    ["with a URL as host", { ...REQUIRED, host: "https://api.example.com" }, /host/],
    ["with no replicas", { ...REQUIRED, operator: { replicas: 0 } }, /replicas/],
    [
      "with two control plane replicas",
      { ...REQUIRED, plans: { default: { class: "a", controlPlaneReplicas: 2 } } },
      /controlPlaneReplicas/,
    ],
    [
      "with a memory limit in another unit",
      { ...REQUIRED, operator: { resources: { limits: { memory: "1G" } } } },
      /memory/,
    ],
    ["with a tag as digest", { ...REQUIRED, image: { digest: "1.0" } }, /digest/],
  ])("%s", async (_, values, expected) => {
    expect(await findRefusal(values)).toMatch(expected);
  });
});

test("every Pod is restricted: no root, no privileges, no capability, a root that is read-only", async () => {
  const { objects } = await render({});
  const specs = objects.flatMap((object) =>
    object.kind === "Pod" ? object.spec : (object.spec?.template?.spec ?? []),
  );
  expect(specs.length).toBe(4);
  for (const spec of specs) {
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    for (const { securityContext } of spec.containers)
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
  }
});

test("no role grants everything of something, but for reading machines of any infrastructure", async () => {
  const { objects } = await render({});
  const rules = objects
    .filter(({ kind }) => kind.endsWith("Role"))
    .flatMap(({ metadata, rules }) => rules.map((rule: object) => ({ role: metadata.name, ...rule })));
  const wildcards = rules.filter((rule) => JSON.stringify(rule).includes('"*"'));
  expect(wildcards).toEqual([
    {
      role: "marina-operator",
      apiGroups: ["infrastructure.cluster.x-k8s.io"],
      resources: ["*"],
      verbs: ["get", "list", "watch"],
    },
  ]);
});

test("the heap of a program is three quarters of its memory limit", async () => {
  const { text } = await render({ operator: { resources: { limits: { memory: "2Gi" } } } });
  expect(text).toContain("--max-old-space-size=1536");
  expect(text).toContain("--max-old-space-size=1152");
});

test("definitions of custom resources stay when the release is uninstalled", async () => {
  const { objects } = await render({});
  const definitions = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
  expect(definitions).toHaveLength(4);
  for (const { metadata } of definitions)
    expect(metadata).toMatchObject({ annotations: { "helm.sh/resource-policy": "keep" } });
});
