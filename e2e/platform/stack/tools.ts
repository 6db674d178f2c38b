import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { buildPrograms, COMPILER_FLAGS, ldflagsFor, readGoVersion, runGo } from "../programs/go-build.ts";
import type { ProcessIdentity } from "../programs/process-identity.ts";
import type { Buildable } from "./build-queue.ts";
import { writeCapiManifests } from "./cluster-api-manifests.ts";
import { requireFreeSpace } from "./disk.ts";
import { writeKwokStages } from "./kwok-stages.ts";
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
  capiManifestsFile: string;
  /** The rules by which kwok simulates a kubelet, see kwok-stages.ts. */
  kwokStagesFile: string;
}

/** The Kubernetes in go.mod. */
export const KUBERNETES_VERSION = "v1.36.4";
const LDFLAGS = ldflagsFor(KUBERNETES_VERSION);
/** The Go module of the stack's programs. */
export const GO_MODULE_DIR = join(import.meta.dirname, "tools");
// Modules 1.2 GB, build cache 3.4 GB, binaries 0.6 GB, rounded up.
const BUILD_SPACE_GB = 6;

const MANIFESTS_FILE = "cluster-api.json";
const STAGES_FILE = "kwok-stages.yaml";

/** Names of what is built next to programs. */
export const GO_MODULES = "Go modules";
export const CAPI_MANIFESTS = "Cluster API manifests";
export const KWOK_STAGES = "kwok rules";

/** These are built at once, under one name: nothing needs one of them without the other. */
const BUILT_AT_ONCE: readonly ToolName[] = ["etcd", "kube-apiserver"];
const AT_ONCE = BUILT_AT_ONCE.join(" and ");

/** The name of the build that makes a program. */
export function buildNameOf(name: ToolName): string {
  return BUILT_AT_ONCE.includes(name) ? AT_ONCE : name;
}

/** The folder of everything that is built or fetched once per user. */
export function cacheRoot(): string {
  const fallback =
    process.platform === "darwin" ? join(homedir(), "Library", "Caches") : join(homedir(), ".cache");
  return join(process.env.XDG_CACHE_HOME ?? fallback, "marina");
}

function cacheKey(goVersion: string): string {
  // With the flags, so that a kube-apiserver of another version is linked from what was compiled, and not compiled
  // anew.
  const hash = createHash("sha256").update(goVersion).update(LDFLAGS).update(COMPILER_FLAGS);
  for (const name of ["go.mod", "go.sum"]) hash.update(readFileSync(join(GO_MODULE_DIR, name)));
  for (const name of ["cluster-api-manifests.ts", "kwok-stages.ts"]) {
    hash.update(readFileSync(join(import.meta.dirname, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Says where the programs are, built or not. Throws StartError for a missing or old Go. */
export async function openTools(): Promise<Tools> {
  const dir = join(cacheRoot(), `tools-${cacheKey(await readGoVersion(GO_MODULE_DIR))}`);
  mkdirSync(dir, { recursive: true });
  const path = (name: ToolName): string => join(dir, name);
  const files = { capiManifestsFile: join(dir, MANIFESTS_FILE), kwokStagesFile: join(dir, STAGES_FILE) };
  return { dir, path, ...files };
}

function programsOf(
  tools: Tools,
  name: string,
  programs: readonly ToolName[],
  onWait: (holder: ProcessIdentity) => void,
): Buildable {
  const build = {
    dir: tools.dir,
    packages: Object.fromEntries(programs.map((program) => [program, PACKAGES[program]])),
    moduleDir: GO_MODULE_DIR,
    ldflags: LDFLAGS,
  };
  const isBuilt = (): boolean => programs.every((program) => existsSync(tools.path(program)));
  return {
    name,
    isBuilt,
    // One start at a time builds in the folder; the other finds what was built meanwhile.
    build: (options) =>
      doLocked(
        join(tools.dir, "lock"),
        async () => {
          if (!isBuilt()) await buildPrograms({ ...build, ...options });
        },
        { onWait, signal: options.signal },
      ),
  };
}

/**
 * The modules that these programs are built from. Not `go mod download`: most modules of the graph no program imports.
 */
function modulesOf(programs: readonly Buildable[], names: readonly ToolName[]): Buildable {
  let isDownloaded = false;
  return {
    name: GO_MODULES,
    isBuilt: () => isDownloaded || programs.every((program) => program.isBuilt()),
    async build({ signal }) {
      const args = ["list", "-deps", "-f", "", ...names.map((name) => PACKAGES[name])];
      await runGo({ moduleDir: GO_MODULE_DIR, args, subject: "the list of modules", signal });
      isDownloaded = true;
    },
  };
}

/** A file that is written from the modules in go.mod. */
function fileOf(
  name: string,
  file: string,
  write: (moduleDir: string, file: string) => Promise<void>,
): Buildable {
  return { name, isBuilt: () => existsSync(file), build: () => write(GO_MODULE_DIR, file) };
}

/**
 * The modules of the first programs (the rest is downloaded by the builds that need it), then the programs with the
 * files that go with them, in this order: Cluster API's manifests before its core manager, the rules of kwok before
 * kwok. `onWait` is called for another start that builds at the moment.
 */
export function buildablesOf(
  tools: Tools,
  names: readonly ToolName[],
  {
    first = names,
    onWait = () => {},
  }: { first?: readonly ToolName[]; onWait?: (holder: ProcessIdentity) => void } = {},
): Buildable[] {
  const programs = [...Map.groupBy(names, buildNameOf)].map(([name, group]) =>
    programsOf(tools, name, group, onWait),
  );
  const files: Partial<Record<ToolName, Buildable>> = {
    "capi-core": fileOf(CAPI_MANIFESTS, tools.capiManifestsFile, writeCapiManifests),
    kwok: fileOf(KWOK_STAGES, tools.kwokStagesFile, writeKwokStages),
  };
  const ordered = programs.flatMap((program) => {
    const file = files[program.name as ToolName];
    return file === undefined ? [program] : [file, program];
  });
  const needed = names.filter((name) => first.includes(name));
  const isNeeded = ({ name }: Buildable): boolean => needed.some((one) => buildNameOf(one) === name);
  return [modulesOf(programs.filter(isNeeded), needed), ...ordered];
}

/** Throws StartError when something of it is to be built and the disk is too full. */
export function requireBuildSpace({ dir }: Tools, items: readonly Buildable[]): void {
  if (items.some((item) => !item.isBuilt())) requireFreeSpace(dir, BUILD_SPACE_GB, "the first build");
}

/**
 * The programs of the stack, built when they are not in the user's cache folder yet, which is kept per go.mod, go.sum
 * and Go version, with the manifests of Cluster API. Safe against a second start at the same time. Throws StartError
 * for a missing or old Go, a full disk or a failed build.
 */
export async function ensureTools(wanted: readonly ToolName[], signal: AbortSignal): Promise<Tools> {
  const tools = await openTools();
  const items = buildablesOf(tools, wanted);
  const manifests = fileOf(CAPI_MANIFESTS, tools.capiManifestsFile, writeCapiManifests);
  requireBuildSpace(tools, items);
  for (const item of [...items, manifests])
    if (!item.isBuilt()) await item.build({ signal, isBackground: false });
  return tools;
}
