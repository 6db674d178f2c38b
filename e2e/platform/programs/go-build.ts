import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../../shared/program/errors.ts";
import { StartError } from "./start-error.ts";

const run = promisify(execFile);
const ERROR_LINES = 15;

/**
 * Without debug information, which the linker drops: a tenth less work for the compiler and a quarter less build cache.
 */
export const COMPILER_FLAGS = "-gcflags=all=-dwarf=false";

/**
 * Link flags that make a Kubernetes program report `version` (with `v`); without them it reports one it cannot parse.
 */
export function ldflagsFor(version: string): string {
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

function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false", GOWORK: "off" };
}

/** The output of `go version`. Throws StartError when Go is missing or older than the module in `moduleDir` needs. */
export async function readGoVersion(moduleDir: string): Promise<string> {
  const required = /^go (\S+)$/m.exec(readFileSync(join(moduleDir, "go.mod"), "utf8"))?.[1] ?? "1.26.0";
  const advice = `install Go ${required} or newer (https://go.dev/dl) and check that \`go version\` works in this terminal`;
  try {
    // `go list` reads go.mod, so a toolchain that is too old fails here or fetches the right one.
    await run("go", ["list", "-m"], { cwd: moduleDir, env: goEnvironment() });
    const { stdout } = await run("go", ["version"], { cwd: moduleDir, env: goEnvironment() });
    return stdout.trim();
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isMissing)
      throw new StartError(`Go is not installed, and it builds the stack's programs once: ${advice}.`);
    const reason = messageOf(error).trim().split("\n").at(-1) ?? "";
    throw new StartError(`This Go cannot build the stack's programs (${reason.trim()}): ${advice}.`);
  }
}

export interface GoCommand {
  moduleDir: string;
  args: readonly string[];
  /** What it builds or reads, for the error message. */
  subject: string;
  signal?: AbortSignal | undefined;
  /** Leaves the cores to programs that run. */
  isBackground?: boolean | undefined;
}

/** Runs `go`. Throws StartError with the last lines of its output when it fails or is stopped. */
export function runGo({ moduleDir, args, subject, signal, isBackground }: GoCommand): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("go", args, {
      cwd: moduleDir,
      env: goEnvironment(),
      stdio: ["ignore", "ignore", "pipe"],
      ...(signal === undefined ? {} : { signal }),
    });
    // The compilers that it starts inherit it.
    if (isBackground === true && child.pid !== undefined)
      setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => {
      errors = (errors + chunk.toString("utf8")).slice(-4000);
    });
    child.on("error", (error) => reject(signal?.aborted === true ? new StartError("stopped") : error));
    child.on("exit", (code) => (code === 0 ? resolve() : reject(toStartError(subject, errors))));
  });
}

function toStartError(subject: string, errors: string): StartError {
  if (errors.includes("no space left")) {
    return new StartError(
      "The disk is full: free some space and start again; programs that are already built are kept.",
    );
  }
  const lines = errors.trim().split("\n").slice(-ERROR_LINES);
  return new StartError(`Building ${subject} failed:\n${lines.join("\n")}`);
}

export interface GoBuild {
  /** The folder that the programs are written to. */
  dir: string;
  /** The Go package of each program by its file name, all of modules that go.mod in `moduleDir` names. */
  packages: Readonly<Record<string, string>>;
  moduleDir: string;
  ldflags: string;
  signal?: AbortSignal | undefined;
  isBackground?: boolean | undefined;
}

/** The name that `go build` gives a program: the last part of its package that is no major version. */
function executableOf(goPackage: string): string {
  return basename(goPackage.replace(/\/v\d+$/, ""));
}

/**
 * Builds programs with one `go build`, which keeps the cores busy while a program is linked: etcd and kube-apiserver
 * take 175 s on two cores, one after another 184 s. Throws StartError like `runGo`; then none of them is written.
 */
export async function buildPrograms(build: GoBuild): Promise<void> {
  const { dir, packages, moduleDir, ldflags, signal, isBackground } = build;
  const subject = Object.keys(packages).join(" and ");
  // Moved when complete, so that neither Ctrl-C nor a second start leaves a partial program.
  const drafts = mkdtempSync(join(dir, "build-"));
  try {
    const flags = ["-trimpath", COMPILER_FLAGS, "-ldflags", ldflags, "-o", `${drafts}/`];
    const args = ["build", ...flags, ...Object.values(packages)];
    await runGo({ moduleDir, args, subject, signal, isBackground });
    for (const [name, goPackage] of Object.entries(packages)) {
      renameSync(join(drafts, executableOf(goPackage)), join(dir, name));
    }
  } finally {
    rmSync(drafts, { recursive: true, force: true });
  }
}
