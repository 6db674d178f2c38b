import { join } from "node:path";
import { stringify } from "yaml";
import { StartError } from "../programs/start-error.ts";
import { ROOT } from "../stack/marina.ts";
import { isUserName, type UserName } from "../stack/users.ts";
import { ensureCluster, ensureOrganization, waitUntilRunning } from "./first-cluster.ts";
import { requestToken } from "./identity-token.ts";
import { composeNetworkPlugin, readNetworkPlugin } from "./network-plugin.ts";
import { planSteps, type Step } from "./plan.ts";
import { readKeptSettings, readSettings } from "./read-settings.ts";
import { requireCommand, runCommand } from "./run-command.ts";
import {
  API_URL,
  IDENTITY_HOST,
  type KeptSettings,
  type KindSettings,
  KUBERNETES_VERSIONS,
  kubeconfigOf,
  PORTS,
} from "./settings.ts";
import { requireTools } from "./tools.ts";

const DIR = join(ROOT, ".marina", "kind");
const FIRST_CLUSTER_DEADLINE_MS = 15 * 60_000;

const USAGE = `npm run kind                  makes what is missing of a kind cluster with Marina and a first tenant cluster
npm run kind -- token alice   prints a fresh token (or bob, staff)
`;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Prints what is done and why, and how it ended and when. */
async function time<T>(name: string, why: string, work: () => Promise<[T, string]>): Promise<T> {
  print(`\n${name}: ${why}`);
  const startedAt = performance.now();
  const [result, text] = await work();
  print(`  ${text} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  return result;
}

function runStep({ name, why, check, commands }: Step): Promise<void> {
  return time(name, why, async () => {
    if (check.isDone(await runCommand(check.command))) return [undefined, "already done"];
    for (const command of commands) await requireCommand(command);
    return [undefined, "done"];
  });
}

function tokenOf({ certificates, secrets }: KeptSettings, user: UserName): Promise<string> {
  const url = `https://127.0.0.1:${PORTS.identity.host}`;
  return requestToken({ url, host: IDENTITY_HOST, ca: certificates.ca }, user, secrets.clientSecret);
}

async function createFirstCluster(settings: KindSettings): Promise<void> {
  const place = { apiUrl: API_URL, token: await tokenOf(settings, "alice") };
  const orgId = await ensureOrganization(place);
  const objects = composeNetworkPlugin(`org-${orgId}`, await readNetworkPlugin());
  await requireCommand({
    program: "kubectl",
    args: ["apply", "--server-side", "--force-conflicts", "--filename=-"],
    stdin: objects.map((object) => stringify(object)).join("---\n"),
    environment: { KUBECONFIG: kubeconfigOf(settings.dir) },
  });
  const { id } = await ensureCluster(place, orgId, KUBERNETES_VERSIONS.at(-1) ?? "");
  const waiting = { orgId, clusterId: id, timeoutMs: FIRST_CLUSTER_DEADLINE_MS };
  await waitUntilRunning(place, waiting, (status) => print(`  ${status}`));
}

async function setUp(): Promise<void> {
  await requireTools();
  const settings = await time("build", "the image of both programs, from this checkout", async () => {
    const read = await readSettings(DIR);
    return [read, `marina/marina:${read.imageTag}`];
  });
  for (const step of planSteps(settings)) await runStep(step);
  await time("first cluster", "a tenant asks for it by REST; its machines are containers", async () => {
    await createFirstCluster(settings);
    return [undefined, "it runs"];
  });
  print(`
  API      ${API_URL}/docs
  token    npm run -s kind -- token alice
  kubectl  KUBECONFIG=${kubeconfigOf(DIR)} kubectl get clusters.cloud.marina.dev,nodepools --all-namespaces`);
}

async function main([command, user]: string[]): Promise<void> {
  if (command === undefined) return setUp();
  if (command !== "token" || !isUserName(user)) throw new StartError(USAGE);
  print(await tokenOf(await readKeptSettings(DIR), user));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
