import { execFile, spawn } from "node:child_process";
import { readFileSync, renameSync, rmSync } from "node:fs";
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

export interface GoProgram {
  /** Where the program is written. */
  file: string;
  /** The Go package, of a module that go.mod in `moduleDir` names. */
  goPackage: string;
  moduleDir: string;
  ldflags: string;
  signal?: AbortSignal | undefined;
  isBackground?: boolean | undefined;
}

/** Builds one program. Throws StartError like `runGo`. */
export async function buildProgram(program: GoProgram): Promise<void> {
  const { file, goPackage, moduleDir, ldflags, signal, isBackground } = program;
  // Renamed when complete, so that neither Ctrl-C nor a second start leaves a partial program.
  const draft = `${file}.${process.pid}.part`;
  try {
    const args = ["build", "-trimpath", COMPILER_FLAGS, "-ldflags", ldflags, "-o", draft, goPackage];
    await runGo({ moduleDir, args, subject: basename(file), signal, isBackground });
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}
