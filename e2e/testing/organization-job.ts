import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ensureSecrets } from "../platform/stack/secrets.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import type { UserName } from "../platform/stack/users.ts";
import { readCredential } from "./credentials.ts";

/** What of the Job of examples/gitops/organization is run. */
export interface OrganizationJob {
  command: string[];
  env: { name: string; value: string }[];
}

interface Runner {
  namespace: string;
  service: UserName;
}

/**
 * Runs the command of the Job as its Pod would in this Namespace, with the rights of its ServiceAccount, as a service of the
 * identity provider.
 */
export async function runOrganizationJob(
  stack: StackInfo,
  { command, env }: OrganizationJob,
  { namespace, service }: Runner,
): Promise<{ exitCode: number; output: string }> {
  const { stdout: token } = await kubectl(["create", "token", "organization", "-n", namespace]);
  const { server, ca } = readCredential(await readFile(stack.kubeconfig, "utf8"));
  const { clientSecret } = await ensureSecrets(dirname(stack.logs));
  const files = { token, namespace, "ca.crt": ca, "client-id": service, "client-secret": clientSecret };
  const folder = await mkdtemp(join(tmpdir(), "marina-organization-"));
  const inPod = { CLIENT_DIR: folder, KUBERNETES_URL: server, SERVICE_ACCOUNT_DIR: folder };
  const ofJob = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const [program = "", ...args] = command;
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const settings = { env: { PATH: process.env.PATH, ...ofJob, ...inPod } };
    const { stdout } = await promisify(execFile)(program, args, settings);
    return { exitCode: 0, output: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { exitCode: code, output: stdout };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Plays the Pod of the Job in this Namespace, where no Pod runs: its command, then its status. Rejects when it fails. */
export async function playOrganizationJob(stack: StackInfo, runner: Runner): Promise<void> {
  const job = ["job/organization", "-n", runner.namespace];
  const read = async () => JSON.parse((await kubectl(["get", ...job, "-o", "json"])).stdout);
  const { spec } = await waitFor("the Job", read);
  const { exitCode, output } = await runOrganizationJob(stack, spec.template.spec.containers[0], runner);
  if (exitCode !== 0) throw new Error(`the Job has ended with ${exitCode}: ${output}`);
  const now = new Date().toISOString();
  const conditions = ["SuccessCriteriaMet", "Complete"].map((type) => ({
    type,
    status: "True",
    reason: "CompletionsReached",
    lastProbeTime: now,
    lastTransitionTime: now,
  }));
  const status = {
    startTime: now,
    completionTime: now,
    succeeded: 1,
    uncountedTerminatedPods: {},
    conditions,
  };
  const patch = JSON.stringify({ status });
  await kubectl(["patch", ...job, "--subresource=status", "--type=merge", "-p", patch]);
}
