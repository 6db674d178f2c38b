import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "../../platform/programs/free-port.ts";
import { fetchPinnedModule, PINNED_DIR } from "../../platform/stack/go-module.ts";
import { ensureGoTool } from "../../platform/stack/go-tool.ts";
import type { StackInfo } from "../../platform/stack/stack-info.ts";
import { kubectl } from "../../platform/stack/testing.ts";

export type Controller = "source-controller" | "kustomize-controller" | "helm-controller";

const moduleOf = (name: Controller) => `github.com/fluxcd/${name}`;

/** The path of a program, built at its first use: some minutes of processor time. */
const ensureController = (name: Controller): Promise<string> =>
  ensureGoTool({ name, goPackage: moduleOf(name), moduleDir: PINNED_DIR, module: moduleOf(name) });

/**
 * Installs the CRDs of these controllers of Flux and starts them, with this Namespace as their own. Returns how they are
 * stopped.
 */
export async function startControllers(
  stack: StackInfo,
  namespace: string,
  names: readonly Controller[],
): Promise<() => Promise<void>> {
  const programs: [Controller, string][] = [];
  for (const name of names) {
    programs.push([name, await ensureController(name)]);
    const folder = await fetchPinnedModule(moduleOf(name));
    await kubectl(["apply", "--server-side", "-f", join(folder, "config", "crd", "bases")], { stack });
  }
  const storage = mkdtempSync(join(tmpdir(), "marina-flux-"));
  const artifacts = `127.0.0.1:${await findFreePort()}`;
  const ofSource = [
    `--storage-path=${storage}`,
    `--storage-addr=${artifacts}`,
    `--storage-adv-addr=${artifacts}`,
  ];
  const children: ChildProcess[] = [];
  for (const [name, program] of programs) {
    const common = [
      `--metrics-addr=127.0.0.1:${await findFreePort()}`,
      `--health-addr=127.0.0.1:${await findFreePort()}`,
    ];
    const flags = name === "source-controller" ? ofSource : [];
    const child = spawn(program, [...common, ...flags], {
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
