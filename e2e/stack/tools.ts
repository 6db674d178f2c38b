import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { buildProgram, ldflagsFor, readGoVersion, runGo } from "../programs/go-build.ts";
import type { ProcessIdentity } from "../programs/process-identity.ts";
import { writeEngineManifests } from "./cluster-api-manifests.ts";
import { requireFreeSpace } from "./disk.ts";
import { writeKwokStages } from "./kwok-stages.ts";
import type { Progress } from "./progress.ts";
import { doLocked } from "./run-lock.ts";

/** Every program that is built, with its Go package, in build order. */
export const PACKAGES = {
  etcd: "go.etcd.io/etcd/server/v3",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
  kwok: "sigs.k8s.io/kwok/cmd/kwok",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  "capi-core": "sigs.k8s.io/cluster-api/core",
  "capi-kubeadm-bootstrap": "sigs.k8s.io/cluster-api/bootstrap/kubeadm",
  "capi-kubeadm-control-plane": "sigs.k8s.io/cluster-api/controlplane/kubeadm",
  "capi-in-memory": "sigs.k8s.io/cluster-api/test/infrastructure/docker",
  helm: "helm.sh/helm/v4/cmd/helm",
} as const;

export type ToolName = keyof typeof PACKAGES;

export interface Tools {
  /** The folder of all programs. */
  dir: string;
  path(name: ToolName): string;
  /** JSON of the Cluster API version that was built, see cluster-api-manifests.ts. */
  engineManifestsFile: string;
  /** The rules by which kwok simulates a kubelet, see kwok-stages.ts. */
  kwokStagesFile: string;
}

/** The Kubernetes in go.mod. */
const KUBERNETES_VERSION = "v1.36.4";
const LDFLAGS = ldflagsFor(KUBERNETES_VERSION);
/** The Go module of the stack's programs. */
export const GO_MODULE_DIR = join(import.meta.dirname, "tools");
// Modules 1.2 GB, build cache 3.4 GB, binaries 0.6 GB, rounded up.
const BUILD_SPACE_GB = 6;

/** The folder of everything that is built or fetched once per user. */
export function cacheRoot(): string {
  const fallback =
    process.platform === "darwin" ? join(homedir(), "Library", "Caches") : join(homedir(), ".cache");
  return join(process.env.XDG_CACHE_HOME ?? fallback, "marina");
}

function cacheKey(goVersion: string): string {
  const hash = createHash("sha256").update(goVersion).update(LDFLAGS);
  for (const name of ["go.mod", "go.sum"]) hash.update(readFileSync(join(GO_MODULE_DIR, name)));
  for (const name of ["cluster-api-manifests.ts", "kwok-stages.ts"]) {
    hash.update(readFileSync(join(import.meta.dirname, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

async function buildMissing(
  dir: string,
  wanted: readonly ToolName[],
  progress: Progress,
  signal: AbortSignal | undefined,
): Promise<void> {
  const missing = wanted.filter((name) => !existsSync(join(dir, name)));
  if (missing.length === 0) return;
  requireFreeSpace(dir, BUILD_SPACE_GB, "the first build");
  progress.line(
    `building ${missing.length} of ${wanted.length} programs; first run: about 9 minutes; later runs: seconds`,
  );
  // Not `go mod download`: it fetches every module of the graph, most of which no program imports.
  const list = ["list", "-deps", "-f", "", ...missing.map((name) => PACKAGES[name])];
  await progress.during(
    "downloading Go modules (1.2 GB at the first run)",
    runGo({ moduleDir: GO_MODULE_DIR, args: list, subject: "the list of modules", signal }),
  );
  for (const [index, name] of missing.entries()) {
    await progress.during(
      `building ${name} (${index + 1} of ${missing.length})`,
      buildProgram({
        file: join(dir, name),
        goPackage: PACKAGES[name],
        moduleDir: GO_MODULE_DIR,
        ldflags: LDFLAGS,
        signal,
      }),
    );
  }
}

/**
 * The programs of the stack, built when they are not in the user's cache folder yet, which is kept per go.mod, go.sum
 * and Go version. Safe against a second start at the same time. Throws StartError for a missing or old Go, a full
 * disk or a failed build.
 */
export async function ensureTools(
  wanted: readonly ToolName[],
  progress: Progress,
  signal?: AbortSignal,
): Promise<Tools> {
  const dir = join(cacheRoot(), `tools-${cacheKey(await readGoVersion(GO_MODULE_DIR))}`);
  mkdirSync(dir, { recursive: true });
  const engineManifestsFile = join(dir, "cluster-api.json");
  const kwokStagesFile = join(dir, "kwok-stages.yaml");
  const files = [...wanted.map((name) => join(dir, name)), engineManifestsFile, kwokStagesFile];
  const isComplete = () => files.every((file) => existsSync(file));
  if (!isComplete()) {
    const build = async () => {
      await buildMissing(dir, wanted, progress, signal);
      if (!existsSync(engineManifestsFile)) await writeEngineManifests(GO_MODULE_DIR, engineManifestsFile);
      if (!existsSync(kwokStagesFile)) await writeKwokStages(GO_MODULE_DIR, kwokStagesFile);
    };
    const onWait = ({ pid }: ProcessIdentity) =>
      progress.line(`another start (pid ${pid}) is building the programs: waiting for it`);
    await doLocked(join(dir, "lock"), build, { onWait, signal });
  }
  return { dir, path: (name) => join(dir, name), engineManifestsFile, kwokStagesFile };
}
