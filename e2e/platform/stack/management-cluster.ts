import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { GROUP } from "../../../shared/crd/names.ts";
import type { Certificates, ClientCertificate } from "./certificates.ts";
import type { KubeApi } from "./kube-api.ts";
import { userOf } from "./marina.ts";
import type { Ports } from "./ports.ts";
import { requireHttpOk, requireKubeReady, requireOpenPort } from "./probes.ts";
import type { ProcessNode } from "./supervisor.ts";
import type { Tools } from "./tools.ts";

export interface ManagementClusterDeps {
  dir: string;
  ports: Ports;
  tools: Tools;
  certificates: Certificates;
  kubeconfig: string;
  kube: KubeApi;
  audit?: Audit | undefined;
  /** An address with TLS that is sent the audit events, see AUDIT_WEBHOOK. */
  auditWebhookUrl?: string | undefined;
  /** The controllers of workloads where these run, in addition to those of every stack. */
  workloadControllers?: readonly string[] | undefined;
}

/**
 * Whose requests are written to AUDIT_LOG in the run directory, one JSON object a line: everybody's, those of the API
 * server and the operator with the deletions of Marina's objects by any user, or these deletions alone, which are sent
 * to AUDIT_WEBHOOK too.
 */
export type Audit = "everybody" | "programs" | "deletions";

/** Where the webhook receiver of such a stack has the deletions, with their bearer credential. */
export const AUDIT_WEBHOOK = {
  path: "/kubernetes/audit-events",
  token: "of-the-audit-events-of-the-embedded-cluster",
} as const;

/** In the run directory of a stack that was started with `audit`. */
export const AUDIT_LOG = "audit.log";

export const MANAGEMENT_PORTS = ["etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager"] as const;

// For namespaces, owner references, service accounts and quotas.
const CONTROLLERS = [
  "namespace-controller",
  "garbage-collector-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "root-ca-certificate-publisher-controller",
  "clusterrole-aggregation-controller",
  "resourcequota-controller",
  "ttl-after-finished-controller",
  "validatingadmissionpolicy-status-controller",
];

/** The address of the embedded kube-apiserver. */
export function managementServerOf(ports: Ports): string {
  return `https://127.0.0.1:${ports["kube-apiserver"]}`;
}

/** Writes a self-contained kubeconfig of the embedded cluster; without `client` for a member of system:masters. */
export function writeKubeconfig(
  file: string,
  server: string,
  { ca, adminCert, adminKey }: Certificates,
  client: ClientCertificate = { cert: adminCert, key: adminKey },
): void {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "marina",
    clusters: [{ name: "marina", cluster: { server, "certificate-authority-data": base64(ca) } }],
    users: [
      {
        name: "client",
        user: { "client-certificate-data": base64(client.cert), "client-key-data": base64(client.key) },
      },
    ],
    contexts: [{ name: "marina", context: { cluster: "marina", user: "client" } }],
  };
  writeFileSync(file, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
}

function etcdNode({ dir, ports, tools }: ManagementClusterDeps): ProcessNode {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports["etcd-peer"]}`;
  return {
    name: "etcd",
    after: [],
    process: () => ({
      command: tools.path("etcd"),
      args: [
        "--name=marina",
        `--data-dir=${join(dir, "etcd")}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=marina=${peer}`,
        // Durability does not matter here; an fsync at every write would slow down every start and test.
        "--unsafe-no-fsync=true",
        "--auto-compaction-retention=10m",
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
      ],
      probe: () => requireHttpOk(`${client}/health`),
      stopTimeoutMs: 1500,
    }),
  };
}

function auditPolicy(audit: Audit): object {
  const resources = ["clusters", "nodepools", "clusteraccesses"];
  const rules = {
    everybody: [{ level: "Metadata" }],
    programs: [{ level: "Metadata", users: [userOf("apiserver"), userOf("operator")] }],
    deletions: [],
  };
  return {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [
      { level: "None", nonResourceURLs: ["*"] },
      { level: "Request", verbs: ["delete", "deletecollection"], resources: [{ group: GROUP, resources }] },
      ...rules[audit],
      { level: "None" },
    ],
  };
}

/** As docs/operators/audit.md says. */
function auditWebhookArgs(dir: string, url: string, caFile: string): string[] {
  const configFile = join(dir, "audit-webhook.json");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "marina",
    clusters: [
      { name: "marina", cluster: { server: `${url}${AUDIT_WEBHOOK.path}`, "certificate-authority": caFile } },
    ],
    users: [{ name: "marina", user: { token: AUDIT_WEBHOOK.token } }],
    contexts: [{ name: "marina", context: { cluster: "marina", user: "marina" } }],
  };
  writeFileSync(configFile, JSON.stringify(config), { mode: 0o600 });
  return [
    `--audit-webhook-config-file=${configFile}`,
    "--audit-webhook-batch-max-wait=3s",
    "--audit-webhook-truncate-enabled",
    "--audit-webhook-truncate-max-batch-size=4000000",
  ];
}

function auditArgs(dir: string, audit: Audit): string[] {
  const policyFile = join(dir, "audit-policy.json");
  writeFileSync(policyFile, JSON.stringify(auditPolicy(audit)));
  return [
    `--audit-policy-file=${policyFile}`,
    `--audit-log-path=${join(dir, AUDIT_LOG)}`,
    // In MB; a log that is rotated away in the middle cannot be counted.
    "--audit-log-maxsize=4000",
  ];
}

function apiserverArgs({
  dir,
  ports,
  certificates,
  audit,
  auditWebhookUrl,
}: ManagementClusterDeps): string[] {
  return [
    ...(audit === undefined ? [] : auditArgs(dir, audit)),
    ...(auditWebhookUrl === undefined ? [] : auditWebhookArgs(dir, auditWebhookUrl, certificates.caFile)),
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    "--bind-address=127.0.0.1",
    // Else it looks for the default route of the machine, and ends where there is none.
    "--advertise-address=127.0.0.1",
    `--secure-port=${ports["kube-apiserver"]}`,
    `--tls-cert-file=${certificates.serverCertFile}`,
    `--tls-private-key-file=${certificates.serverKeyFile}`,
    `--client-ca-file=${certificates.caFile}`,
    `--requestheader-client-ca-file=${certificates.caFile}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${certificates.serviceAccountPublicKeyFile}`,
    `--service-account-signing-key-file=${certificates.serviceAccountKeyFile}`,
    "--authorization-mode=RBAC",
    "--allow-privileged=true",
    "--endpoint-reconciler-type=none",
    // With the defaults (400 and 200) so many handlers run at once on two cores that the watch caches fall seconds
    // behind and 50 clusters never finish; with these they take 185 s.
    "--max-requests-inflight=40",
    "--max-mutating-requests-inflight=20",
    // Else a stop waits 60 s for open watches.
    "--shutdown-watch-termination-grace-period=1s",
    "--profiling=false",
  ];
}

function apiserverNode(deps: ManagementClusterDeps): ProcessNode {
  return {
    name: "kube-apiserver",
    after: ["etcd"],
    process: () => ({
      command: deps.tools.path("kube-apiserver"),
      // For etcd.
      waitsForOthers: true,
      args: apiserverArgs(deps),
      probe: () => requireKubeReady(deps.kube),
      stopTimeoutMs: 3000,
    }),
  };
}

/**
 * What every component of Kubernetes is started with that is a client of the embedded cluster and the only one of its
 * kind.
 */
export function componentArgs(kubeconfig: string, port: number): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--profiling=false",
  ];
}

function controllerManagerNode({
  ports,
  tools,
  certificates,
  kubeconfig,
  workloadControllers,
}: ManagementClusterDeps): ProcessNode {
  const port = ports["kube-controller-manager"] ?? 0;
  return {
    name: "kube-controller-manager",
    // It counts a quota on a kind that is installed later only 30 s after that. With workloads, the chart installs
    // ours.
    after: ["kube-apiserver", ...(workloadControllers === undefined ? ["Marina CRDs"] : [])],
    process: () => ({
      command: tools.path("kube-controller-manager"),
      args: [
        ...componentArgs(kubeconfig, port),
        `--tls-cert-file=${certificates.serverCertFile}`,
        `--tls-private-key-file=${certificates.serverKeyFile}`,
        `--service-account-private-key-file=${certificates.serviceAccountKeyFile}`,
        `--root-ca-file=${certificates.caFile}`,
        `--controllers=${[...CONTROLLERS, ...(workloadControllers ?? [])].join(",")}`,
        // A quota on a kind that was just installed is counted at the next round only: by default after 5 minutes.
        "--resource-quota-sync-period=20s",
      ],
      probe: () => requireOpenPort(port),
      stopTimeoutMs: 1500,
    }),
  };
}

/** etcd, kube-apiserver and kube-controller-manager, on loopback. */
export function managementClusterNodes(deps: ManagementClusterDeps): ProcessNode[] {
  return [etcdNode(deps), apiserverNode(deps), controllerManagerNode(deps)];
}
