import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { loopbackOfService } from "../platform/node-agent/addresses.ts";
import { ROOT } from "../platform/stack/marina.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { namedObjects, type Values } from "./values.ts";

const run = promisify(execFile);

/** The chart of this tree. */
export const CHART = join(ROOT, "charts", "marina");
/** For what hangs; below the deadline of a test. */
const TIMEOUT = "400s";

/** A release of the chart, driven by helm as an administrator does. Every call rejects with the error output. */
export interface Release {
  namespace: string;
  /** Resolves when everything is ready. `chart` is a folder or a package; default: the chart of this tree. */
  install(values: Values, chart?: string): Promise<void>;
  /** With these options besides. */
  upgrade(values: Values, chart?: string, ...options: string[]): Promise<void>;
  /** To the revision before, or to this one. */
  rollback(revision?: number): Promise<void>;
  /** With these options besides. */
  uninstall(...options: string[]): Promise<void>;
  test(): Promise<void>;
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** Where clients reach the API: the address of its Service. */
  findApiUrl(): Promise<string>;
}

/** Creates the namespace, and in it the objects that the values name. */
export async function openRelease(stack: StackInfo, namespace: string, name = "marina"): Promise<Release> {
  const dir = dirname(stack.kubeconfig);

  async function helm(args: readonly string[]): Promise<void> {
    const place = ["--namespace", namespace, "--kubeconfig", stack.kubeconfig, "--timeout", TIMEOUT];
    const [verb = "", ...rest] = args;
    // When an option is given twice the last one counts.
    await run(stack.helm, [verb, ...place, ...rest], { maxBuffer: 64 * 2 ** 20 }).catch((error) => {
      throw new Error(`helm ${args.join(" ")}: ${error.stderr || error.message}`);
    });
  }

  async function deploy(
    verb: "install" | "upgrade",
    values: Values,
    chart = CHART,
    options: readonly string[] = [],
  ): Promise<void> {
    const file = join(dir, `values-${crypto.randomUUID()}.yaml`);
    writeFileSync(file, stringify(values));
    await helm([verb, name, chart, "--values", file, "--wait", ...options]);
  }

  const stdin = namedObjects(stack, namespace).map((object) => JSON.stringify(object));
  await kubectl(["apply", "-f", "-"], { stdin: stdin.join("\n---\n"), stack });
  return {
    namespace,
    install: (values, chart) => deploy("install", values, chart),
    upgrade: (values, chart, ...options) => deploy("upgrade", values, chart, options),
    rollback: (revision) => helm(["rollback", name, ...(revision ? [String(revision)] : []), "--wait"]),
    uninstall: (...options) => helm(["uninstall", name, "--wait", ...options]),
    // Its requests have deadlines, which a slow machine with neighbours may not meet at once.
    async test() {
      await waitFor("helm test to pass", () => helm(["test", name]).then(() => true));
    },
    kubectl: async (args, input = "") =>
      (await kubectl(["--namespace", namespace, ...args], { stdin: input, stack })).stdout,
    findApiUrl: () => findApiUrl(stack, namespace),
  };
}

/** Where clients of this machine reach the API of a release: the address of its Service. */
export async function findApiUrl(stack: StackInfo, namespace: string): Promise<string> {
  const args = ["get", "service", "marina-apiserver", "--output", "jsonpath={.spec.clusterIP}"];
  const { stdout: clusterIP } = await kubectl(["--namespace", namespace, ...args], { stack });
  const { network } = JSON.parse(readFileSync(join(dirname(stack.kubeconfig), "node-agent.json"), "utf8"));
  return `http://${loopbackOfService(network, clusterIP)}`;
}
