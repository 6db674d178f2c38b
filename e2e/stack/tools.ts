import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { writeEngineManifests } from "./cluster-api-manifests.ts";
import { requireFreeSpace } from "./disk.ts";
import { writeKwokStages } from "./kwok-stages.ts";
import type { Progress } from "./progress.ts";
import { releaseLock, takeLock } from "./run-lock.ts";
import { messageOf, StartError } from "./start-error.ts";

const run = promisify(execFile);

/** Every program that is built, and the Go package of each, in the order of building. */
const PACKAGES = {
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
  /** The folder of all of them. */
  dir: string;
  path(name: ToolName): string;
  /** JSON of the Cluster API version that was built, see cluster-api-manifests.ts. */
  engineManifestsFile: string;
  /** What kwok needs to know to play a kubelet, see kwok-stages.ts. */
  kwokStagesFile: string;
}

/** What a program says that it is. An unstamped one is v0.0.0-master+$Format:%H$, which Kubernetes cannot parse. */
function ldflagsFor(version: string): string {
  const [major = "", minor = ""] = version.replace(/^v/, "").split(".");
  const stamps = {
    "k8s.io/component-base/version.gitVersion": version,
    "k8s.io/component-base/version.gitMajor": major,
    "k8s.io/component-base/version.gitMinor": minor,
    "k8s.io/component-base/version.gitTreeState": "clean",
    "k8s.io/client-go/pkg/version.gitVersion": version,
  };
  return ["-s", "-w", ...Object.entries(stamps).map(([name, value]) => `-X ${name}=${value}`)].join(" ");
}

/** The Kubernetes in go.mod. */
const KUBERNETES_VERSION = "v1.36.4";
const LDFLAGS = ldflagsFor(KUBERNETES_VERSION);
const MODULE_DIR = join(import.meta.dirname, "tools");
// Modules 1.2 GB, build cache 3.4 GB, binaries 0.6 GB, rounded up.
const BUILD_SPACE_GB = 6;

function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false", GOWORK: "off" };
}

export async function readGoVersion(): Promise<string> {
  const wanted = /^go (\S+)$/m.exec(readFileSync(join(MODULE_DIR, "go.mod"), "utf8"))?.[1] ?? "1.26.0";
  const advice = `install Go ${wanted} or newer (https://go.dev/dl) and see to it that \`go version\` works in this terminal`;
  try {
    // `go env` reads go.mod, so that a toolchain which is too old refuses here or fetches the right one.
    await run("go", ["list", "-m"], { cwd: MODULE_DIR, env: goEnvironment() });
    const { stdout } = await run("go", ["version"], { cwd: MODULE_DIR, env: goEnvironment() });
    return stdout.trim();
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isMissing)
      throw new StartError(`Go is not installed, and it builds the stack's programs once: ${advice}.`);
    const reason = messageOf(error).trim().split("\n").at(-1) ?? "";
    throw new StartError(`This Go cannot build the stack's programs (${reason.trim()}): ${advice}.`);
  }
}

/** The folder of what is built or fetched once per user. */
export function cacheRoot(): string {
  const fallback =
    process.platform === "darwin" ? join(homedir(), "Library", "Caches") : join(homedir(), ".cache");
  return join(process.env.XDG_CACHE_HOME ?? fallback, "marina");
}

function cacheKey(goVersion: string): string {
  const hash = createHash("sha256").update(goVersion).update(LDFLAGS);
  for (const name of ["go.mod", "go.sum"]) hash.update(readFileSync(join(MODULE_DIR, name)));
  for (const name of ["cluster-api-manifests.ts", "kwok-stages.ts"]) {
    hash.update(readFileSync(join(import.meta.dirname, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

function runGo(
  args: readonly string[],
  what: string,
  signal: AbortSignal | undefined,
  cwd: string = MODULE_DIR,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("go", args, {
      cwd,
      env: goEnvironment(),
      stdio: ["ignore", "ignore", "pipe"],
      ...(signal === undefined ? {} : { signal }),
    });
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => {
      errors = (errors + chunk.toString("utf8")).slice(-4000);
    });
    child.on("error", (error) => reject(signal?.aborted === true ? new StartError("stopped") : error));
    child.on("exit", (code) => {
      if (code === 0) resolve();
      else if (errors.includes("no space left")) {
        reject(
          new StartError(
            "The disk is full: delete something and start again; what is built already is kept.",
          ),
        );
      } else
        reject(
          new StartError(`Building ${what} failed:\n${errors.trim().split("\n").slice(-15).join("\n")}`),
        );
    });
  });
}

function buildOne(
  file: string,
  name: ToolName,
  ldflags: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  return buildProgram(file, PACKAGES[name], MODULE_DIR, ldflags, signal);
}

/** Builds a package of the module in `moduleDir` into `file`. Throws StartError with the end of Go's own words. */
export async function buildProgram(
  file: string,
  goPackage: string,
  moduleDir: string,
  ldflags: string,
  signal?: AbortSignal,
): Promise<void> {
  // Renamed when whole, so that neither Ctrl-C nor a second start ever leaves half a program.
  const draft = `${file}.${process.pid}.part`;
  try {
    const args = ["build", "-trimpath", "-ldflags", ldflags, "-o", draft, goPackage];
    await runGo(args, basename(file), signal, moduleDir);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Where the kube-apiserver that calls itself `version` (with `v`) is, or will be. */
export function stampedApiserverPath(toolsDir: string, version: string): string {
  return join(toolsDir, `kube-apiserver-${version}`);
}

/**
 * Links the kube-apiserver of go.mod once more, to call itself `version` (with `v`) and to emulate that minor: seconds
 * with the build cache of the first build. It stays this code; three minors back is as far as emulation goes.
 */
export function linkApiserver(toolsDir: string, version: string, signal?: AbortSignal): Promise<void> {
  return buildOne(stampedApiserverPath(toolsDir, version), "kube-apiserver", ldflagsFor(version), signal);
}

async function takeBuildLock(file: string, progress: Progress): Promise<void> {
  let told = false;
  for (;;) {
    const holder = takeLock(file, {});
    if (holder === undefined) return;
    if (!told) progress.line(`another start (pid ${holder.pid}) builds the programs: waiting for it`);
    told = true;
    await sleep(500);
  }
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
  // Not `go mod download`: that takes every module of the graph, most of which no program is made of.
  const list = ["list", "-deps", "-f", "", ...missing.map((name) => PACKAGES[name])];
  await progress.during(
    "downloading Go modules (1.2 GB at the first run)",
    runGo(list, "the list of modules", signal),
  );
  for (const [index, name] of missing.entries()) {
    await progress.during(
      `building ${name} (${index + 1} of ${missing.length})`,
      buildOne(join(dir, name), name, LDFLAGS, signal),
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
  const dir = join(cacheRoot(), `tools-${cacheKey(await readGoVersion())}`);
  mkdirSync(dir, { recursive: true });
  const engineManifestsFile = join(dir, "cluster-api.json");
  const kwokStagesFile = join(dir, "kwok-stages.yaml");
  const files = [...wanted.map((name) => join(dir, name)), engineManifestsFile, kwokStagesFile];
  const isComplete = () => files.every((file) => existsSync(file));
  if (!isComplete()) {
    const lock = join(dir, "lock");
    await takeBuildLock(lock, progress);
    try {
      await buildMissing(dir, wanted, progress, signal);
      if (!existsSync(engineManifestsFile)) await writeEngineManifests(MODULE_DIR, engineManifestsFile);
      if (!existsSync(kwokStagesFile)) await writeKwokStages(MODULE_DIR, kwokStagesFile);
    } finally {
      releaseLock(lock);
    }
  }
  return { dir, path: (name) => join(dir, name), engineManifestsFile, kwokStagesFile };
}
