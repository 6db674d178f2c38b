import { join } from "node:path";
import type { ProgramsConfig } from "./config.ts";
import type { ProgramSpec } from "./processes.ts";
import { etcdPrefixOf, firstAddressOf, type Program, type Tenant, type TenantFiles } from "./tenant.ts";

export interface TenantProgramInput {
  tenant: Tenant;
  files: TenantFiles;
  programs: ProgramsConfig;
  /** The path of the kube-apiserver that reports `version`. */
  apiserver: string;
  /** With `v`. */
  version: string;
  /** Whether the control plane signs certificate signing requests for clients of its API. */
  signsRequests: boolean;
  /** At least one of each, in CIDR notation. */
  podCIDRs: readonly string[];
  serviceCIDRs: readonly string[];
  apiserverPort: number;
}

// The controllers for workloads, Nodes, Namespaces and garbage collection. Nothing here uses volumes, node addresses or
// metrics, and certificate requests only where signsRequests says so.
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

const SIGNING_CONTROLLER = "certificatesigningrequest-signing-controller";

const POD_RECOVERS_FILE = join(import.meta.dirname, "pod-recovers.yaml");

/** The command lines of all programs of a tenant. */
export function describePrograms(input: TenantProgramInput): Record<Program, ProgramSpec> {
  const { paths, garbagePercent } = input.programs;
  const describe = (
    program: Program,
    command: string,
    memoryLimit: string,
    args: readonly string[],
  ): ProgramSpec => ({
    command,
    args,
    // A soft heap limit: with 120 MiB the collector takes 12 % of a core in an idle apiserver, with 160 MiB nothing.
    // Start of an apiserver by GOGC: 35 takes 1.9 s and 215 MB, 100 1.5 s and 270 MB, 400 1.3 s and 370 MB.
    env: garbagePercent === undefined ? { GOGC: "35", GOMEMLIMIT: memoryLimit } : { GOGC: garbagePercent },
    log: join(input.files.logsDir, `${program}.log`),
    version: input.version,
  });
  return {
    "kube-apiserver": describe("kube-apiserver", input.apiserver, "160MiB", apiserverArgs(input)),
    "kube-controller-manager": describe(
      "kube-controller-manager",
      paths["kube-controller-manager"],
      "40MiB",
      controllerManagerArgs(input),
    ),
    "kube-scheduler": describe("kube-scheduler", paths["kube-scheduler"], "30MiB", schedulerArgs(input)),
    kwok: describe("kwok", paths.kwok, "30MiB", kwokArgs(input)),
  };
}

function apiserverArgs({
  tenant,
  files,
  programs,
  apiserverPort,
  serviceCIDRs,
}: TenantProgramInput): string[] {
  return [
    `--etcd-servers=${programs.etcdUrl}`,
    `--etcd-prefix=${etcdPrefixOf(tenant)}`,
    // Counting the keys of every kind each minute is most of an idle tenant's load on etcd.
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
    `--service-cluster-ip-range=${serviceCIDRs.join(",")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.path("service-account.pub")}`,
    `--service-account-signing-key-file=${files.path("service-account.key")}`,
    "--authorization-mode=RBAC",
    "--allow-privileged=true",
    "--endpoint-reconciler-type=none",
    "--max-requests-inflight=100",
    "--max-mutating-requests-inflight=50",
    // Otherwise a stop waits 60 s for open watches.
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

function controllerManagerArgs({ files, signsRequests }: TenantProgramInput): string[] {
  return [
    ...kubeconfigArgs(files, "kube-controller-manager"),
    "--leader-elect=false",
    // No metrics endpoint: nothing scrapes it, and it would need a port.
    "--secure-port=0",
    `--service-account-private-key-file=${files.path("service-account.key")}`,
    `--root-ca-file=${files.path("ca.crt")}`,
    `--controllers=${[...CONTROLLERS, ...(signsRequests ? [SIGNING_CONTROLLER] : [])].join(",")}`,
    ...(signsRequests
      ? [
          `--cluster-signing-cert-file=${files.path("ca.crt")}`,
          `--cluster-signing-key-file=${files.path("ca.key")}`,
        ]
      : []),
    // A silent Node is not marked unreachable: one kwok simulates them all, so silence means that kwok or the API was
    // down, and the provider restarts both.
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

/** kwok simulates the kubelet of every Node that carries its annotation. */
function kwokArgs({ files, programs, podCIDRs: [pods = ""] }: TenantProgramInput): string[] {
  return [
    `--kubeconfig=${files.path("kwok.kubeconfig")}`,
    `--config=${programs.kwokStagesFile}`,
    `--config=${POD_RECOVERS_FILE}`,
    "--manage-all-nodes=false",
    "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
    "--node-ip=127.0.0.1",
    // With Leases a new kwok waits 40 s for those of its predecessor, and never handles pods that change before its
    // own cache shows it as the holder.
    "--node-lease-duration-seconds=0",
    `--cidr=${firstAddressOf(pods)}/${pods.split("/")[1]}`,
  ];
}
