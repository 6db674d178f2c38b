import { join } from "node:path";
import type { ProgramSpec } from "./processes.ts";
import { etcdPrefixOf, type Program, SERVICE_RANGE, type Tenant, type TenantFiles } from "./tenant.ts";

/** Where the programs are and what they share. */
export interface ProgramSettings {
  etcdUrl: string;
  tools: Record<"kube-controller-manager" | "kube-scheduler" | "kwok", string>;
  kwokStagesFile: string;
}

export interface TenantProgramInput {
  tenant: Tenant;
  files: TenantFiles;
  settings: ProgramSettings;
  /** The kube-apiserver that calls itself `version`. */
  apiserver: string;
  /** With `v`. */
  version: string;
  apiserverPort: number;
}

// What makes Deployments roll out, Jobs finish, nodes be judged and drained, namespaces and owners be cleaned up.
// Volumes, node addresses, certificate requests and metrics have nobody here to work for.
const CONTROLLERS = [
  "clusterrole-aggregation-controller",
  "cronjob-controller",
  "daemonset-controller",
  "deployment-controller",
  "disruption-controller",
  "endpoints-controller",
  "endpointslice-controller",
  "garbage-collector-controller",
  "job-controller",
  "namespace-controller",
  "node-lifecycle-controller",
  "pod-garbage-collector-controller",
  "replicaset-controller",
  "resourcequota-controller",
  "root-ca-certificate-publisher-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "statefulset-controller",
  "taint-eviction-controller",
  "ttl-after-finished-controller",
  "validatingadmissionpolicy-status-controller",
];

const POD_RECOVERS_FILE = join(import.meta.dirname, "pod-recovers.yaml");

/** The arguments of all programs of a tenant, the one place for them. */
export function describePrograms(input: TenantProgramInput): Record<Program, ProgramSpec> {
  const describe = (
    program: Program,
    command: string,
    memoryLimit: string,
    args: readonly string[],
  ): ProgramSpec => ({
    command,
    args,
    // A heap limit makes the collector work harder near it and never kills: 120 MiB cost an idle apiserver 12 % of a
    // core, 160 MiB none. GOGC 35 takes 16 MB less than 50, for 0.2 s more of the processor at the start.
    env: { GOGC: "35", GOMEMLIMIT: memoryLimit },
    log: join(input.files.logsDir, `${program}.log`),
    version: input.version,
  });
  const { tools } = input.settings;
  return {
    "kube-apiserver": describe("kube-apiserver", input.apiserver, "160MiB", apiserverArgs(input)),
    "kube-controller-manager": describe(
      "kube-controller-manager",
      tools["kube-controller-manager"],
      "40MiB",
      controllerManagerArgs(input),
    ),
    "kube-scheduler": describe("kube-scheduler", tools["kube-scheduler"], "30MiB", schedulerArgs(input)),
    kwok: describe("kwok", tools.kwok, "30MiB", kwokArgs(input)),
  };
}

function apiserverArgs({ tenant, files, settings, apiserverPort }: TenantProgramInput): string[] {
  return [
    `--etcd-servers=${settings.etcdUrl}`,
    `--etcd-prefix=${etcdPrefixOf(tenant)}`,
    // Counting every kind's keys once a minute is most of what an idle tenant asks of etcd.
    "--etcd-count-metric-poll-period=30m",
    "--etcd-db-metric-poll-interval=30m",
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${apiserverPort}`,
    `--tls-cert-file=${files.path("kube-apiserver.crt")}`,
    `--tls-private-key-file=${files.path("kube-apiserver.key")}`,
    `--client-ca-file=${files.path("ca.crt")}`,
    `--requestheader-client-ca-file=${files.path("proxy-ca.crt")}`,
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${files.path("front-proxy-client.crt")}`,
    `--proxy-client-key-file=${files.path("front-proxy-client.key")}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.path("service-account.pub")}`,
    `--service-account-signing-key-file=${files.path("service-account.key")}`,
    "--authorization-mode=RBAC",
    "--allow-privileged=true",
    "--endpoint-reconciler-type=none",
    "--max-requests-inflight=100",
    "--max-mutating-requests-inflight=50",
    // Else a stop waits 60 s for open watches.
    "--shutdown-watch-termination-grace-period=1s",
    "--profiling=false",
  ];
}

function kubeconfigArgs(files: TenantFiles, client: string): string[] {
  const file = files.path(`${client}.kubeconfig`);
  return [
    `--kubeconfig=${file}`,
    `--authentication-kubeconfig=${file}`,
    `--authorization-kubeconfig=${file}`,
  ];
}

function controllerManagerArgs({ files }: TenantProgramInput): string[] {
  return [
    ...kubeconfigArgs(files, "kube-controller-manager"),
    "--leader-elect=false",
    // No page of its own: nobody reads it, and it would need a port.
    "--secure-port=0",
    `--service-account-private-key-file=${files.path("service-account.key")}`,
    `--root-ca-file=${files.path("ca.crt")}`,
    `--controllers=${CONTROLLERS.join(",")}`,
    // No Node is given up for its silence: one kwok plays them all, so it tells of kwok, or of an API that was away,
    // and the provider sees to both.
    "--node-monitor-grace-period=24h",
    "--profiling=false",
  ];
}

function schedulerArgs({ files }: TenantProgramInput): string[] {
  return [
    ...kubeconfigArgs(files, "kube-scheduler"),
    "--leader-elect=false",
    "--secure-port=0",
    "--profiling=false",
  ];
}

/** kwok plays the kubelet of every Node that carries its annotation. */
function kwokArgs({ files, settings }: TenantProgramInput): string[] {
  return [
    `--kubeconfig=${files.path("kwok.kubeconfig")}`,
    `--config=${settings.kwokStagesFile}`,
    `--config=${POD_RECOVERS_FILE}`,
    "--manage-all-nodes=false",
    "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
    "--node-ip=127.0.0.1",
    // With Leases a kwok waits 40 s for those of the one before it, and passes over, for good, the pods that change
    // before its own cache shows it as the holder.
    "--node-lease-duration-seconds=0",
    "--cidr=10.128.0.1/16",
  ];
}
