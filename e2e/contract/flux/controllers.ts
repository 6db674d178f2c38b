import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "../../platform/programs/free-port.ts";
import { fetchGoModule } from "../../platform/stack/go-module.ts";
import { ensureGoTool } from "../../platform/stack/go-tool.ts";
import type { StackInfo } from "../../platform/stack/stack-info.ts";
import { kubectl } from "../../platform/stack/testing.ts";

/** Each in a module of its own: their dependencies differ. */
const CONTROLLERS = ["source-controller", "kustomize-controller"] as const;
type Controller = (typeof CONTROLLERS)[number];

const moduleDirOf = (name: Controller) =>
  join(import.meta.dirname, "..", "..", "platform", "stack", "tools", `flux-${name}`);

/** The paths of the programs, built at their first use: some minutes of processor time. */
export async function ensureControllers(): Promise<Record<Controller, string>> {
  const ensure = (name: Controller) =>
    ensureGoTool({ name, goPackage: `github.com/fluxcd/${name}`, moduleDir: moduleDirOf(name) });
  return {
    "source-controller": await ensure("source-controller"),
    "kustomize-controller": await ensure("kustomize-controller"),
  };
}

/** Installs Flux's CRDs and starts its two controllers, whose own Namespace this is. Returns how they are stopped. */
export async function startControllers(stack: StackInfo, namespace: string): Promise<() => Promise<void>> {
  const programs = await ensureControllers();
  for (const name of CONTROLLERS) {
    const folder = await fetchGoModule(moduleDirOf(name), `github.com/fluxcd/${name}`);
    await kubectl(["apply", "--server-side", "-f", join(folder, "config", "crd", "bases")]);
  }
  const storage = mkdtempSync(join(tmpdir(), "marina-flux-"));
  const artifacts = `127.0.0.1:${await findFreePort()}`;
  const flags: Record<Controller, string[]> = {
    "source-controller": [
      `--storage-path=${storage}`,
      `--storage-addr=${artifacts}`,
      `--storage-adv-addr=${artifacts}`,
    ],
    "kustomize-controller": [],
  };
  const children: ChildProcess[] = [];
  for (const name of CONTROLLERS) {
    const common = [
      `--metrics-addr=127.0.0.1:${await findFreePort()}`,
      `--health-addr=127.0.0.1:${await findFreePort()}`,
    ];
    const child = spawn(programs[name], [...common, ...flags[name]], {
      env: { ...process.env, KUBECONFIG: stack.kubeconfig, RUNTIME_NAMESPACE: namespace },
      stdio: ["ignore", "ignore", "pipe"],
    });
    child.stderr.pipe(createWriteStream(join(stack.logs, `${name}.log`)));
    children.push(child);
  }
  return async () => {
    for (const child of children) {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    }
    rmSync(storage, { recursive: true, force: true });
  };
}
