import { dirname, join } from "node:path";
import { readOptions } from "../programs/options.ts";
import { StartError } from "../programs/start-error.ts";
import { describeMissing } from "./later-parts.ts";
import { createProgress, formatElapsed, type Progress } from "./progress.ts";
import { DEFAULT_PROVIDER, isProviderName, PROVIDER_NAMES, type ProviderName } from "./provider.ts";
import { type Stack, startStack } from "./stack.ts";
import type { StackInfo } from "./stack-info.ts";

const DEFAULT_API_PORT = 8080;
const DEFAULT_DIR = join(import.meta.dirname, "..", "..", "..", ".marina");

const USAGE = `npm start [-- options]

  --fresh                 delete the state of earlier runs
  --dir <folder>          another run directory (default: .marina in the checkout)
  --provider=local        tenant clusters are real Kubernetes APIs, a few processes each (the default)
  --provider=in-memory    tenant clusters are simulated, for hundreds of them
  --infrastructure-only   everything but the API server and the operator; run these by hand or in a debugger:
                            node --env-file=.marina/migrate.env apiserver/db/migrate.ts
                            node --env-file=.marina/apiserver.env apiserver/main.ts
                            node --env-file=.marina/operator.env operator/main.ts
  --help

  MARINA_API_PORT         port of the API (default: ${DEFAULT_API_PORT})
  KUBECONFIG              use this management cluster, with Cluster API and a ClusterClass, not the embedded one
  MARINA_CLUSTER_CLASS    the class to use there, namespace/name (default: the first)
`;

function commandsFor(info: StackInfo): string {
  const organizations = `${info.apiUrl}/api/v1/organizations`;
  const auth = '-H "Authorization: Bearer $TOKEN"';
  const json = '-H "Content-Type: application/json"';
  const idOf = `node -pe 'JSON.parse(require("fs").readFileSync(0)).id'`;
  const pool = '{"name":"workers","vcpus":2,"memory_gb":4,"disk_gb":20,"desired_nodes":2}';
  const kubectl = `${info.kubectl} --kubeconfig first.yaml`;
  return `An organization, a cluster with a pool, its events as they happen (Ctrl-C once it is running), and a Deployment in it:

TOKEN=$(npm run -s token -- alice); ORG=$(curl -s ${auth} ${json} ${organizations} -d '{"name":"Acme"}' | ${idOf}); echo $ORG

CLUSTER=$(curl -s ${auth} ${json} ${organizations}/$ORG/clusters -d '{"name":"first","k8s_version":"1.34","node_pools":[${pool}]}' | ${idOf}); echo $CLUSTER

curl -N ${auth} ${organizations}/$ORG/clusters/$CLUSTER/system-events

curl -s ${auth} ${organizations}/$ORG/clusters/$CLUSTER/kubeconfig > first.yaml; ${kubectl} create deployment hello --image=nginx --replicas=3; ${kubectl} rollout status deployment/hello
`;
}

function summaryOf(info: StackInfo, seconds: number): string {
  return `
Ready after ${seconds.toFixed(1)} s.

  API     ${info.apiUrl}
  Docs    ${info.docsUrl}
  kubectl ${info.kubectl} --kubeconfig ${info.kubeconfig} get clusters.cloud.marina.dev -A
  State   ${dirname(info.logs)}, kept for the next start; --fresh deletes it
  Logs    ${info.logs}
  Webhook receiver ${info.webhookReceiver.url}, prints to ${info.processes["webhook-receiver"]?.log}

`;
}

/** What is still to come after the summary; empty when everything is there. */
function pendingSummaryOf(stack: Stack): string {
  const missing = describeMissing(stack.pending());
  if (missing.length === 0) return "";
  const time = formatElapsed(stack.remainingSeconds() * 1000);
  return `The rest is built meanwhile, in about ${time}; each part is announced when it joins. Until then:\n\n${missing
    .map((text) => `  - ${text}\n`)
    .join("")}\n`;
}

/** Says once that everything is there which was not at the summary, or what could not join. */
async function announceComplete(stack: Stack, progress: Progress): Promise<void> {
  await stack.complete;
  const missing = describeMissing(stack.pending());
  progress.line(
    missing.length === 0
      ? 'everything is built and runs. Next: "npm run demo" in another terminal, or the commands above'
      : `nothing more is built, and ${missing.join("; ")}. Next: the logs are in ${stack.info.logs}, and the next "npm start" builds again`,
  );
}

function infrastructureSummaryOf(info: StackInfo, dir: string): string {
  const run = (name: string, entry: string): string =>
    `  node --env-file=${join(dir, `${name}.env`)} ${entry}\n`;
  return [
    `\nThe infrastructure is ready. Now run:\n\n`,
    run("migrate", "apiserver/db/migrate.ts"),
    run("apiserver", "apiserver/main.ts"),
    run("operator", "operator/main.ts"),
    `\n  kubectl ${info.kubectl} --kubeconfig ${info.kubeconfig}\n\n`,
  ].join("");
}

function readApiPort(): number {
  const text = process.env.MARINA_API_PORT ?? String(DEFAULT_API_PORT);
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new StartError(`MARINA_API_PORT=${text} is not a port: give a number from 1 to 65535.`);
}

function readProvider(text: string): ProviderName {
  if (isProviderName(text)) return text;
  throw new StartError(`--provider=${text} is unknown: give ${PROVIDER_NAMES.join(" or ")}.`);
}

function stopOnSignals(): AbortSignal {
  const abort = new AbortController();
  // A terminal and npm may both send the signal: only the first counts, and each stop has a deadline.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => abort.abort(new StartError("stopped")));
  }
  return abort.signal;
}

async function main(): Promise<number> {
  const startedAt = Date.now();
  const { values } = readOptions({
    options: {
      fresh: { type: "boolean", default: false },
      dir: { type: "string", default: DEFAULT_DIR },
      provider: { type: "string", default: DEFAULT_PROVIDER },
      "infrastructure-only": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const progress = createProgress(process.stdout, startedAt);
  const signal = stopOnSignals();
  const kubeconfig = process.env.KUBECONFIG;
  const infrastructureOnly = values["infrastructure-only"];
  const stack = await startStack({
    dir: values.dir,
    fresh: values.fresh,
    apiPort: readApiPort(),
    provider: readProvider(values.provider),
    parts: infrastructureOnly ? "infrastructure" : "all",
    onCrash: "stop",
    answerEarly: !infrastructureOnly,
    progress,
    signal,
    ...(kubeconfig === undefined || kubeconfig === "" ? {} : { kubeconfig }),
  });
  process.stdout.write(
    infrastructureOnly
      ? infrastructureSummaryOf(stack.info, values.dir)
      : summaryOf(stack.info, (Date.now() - startedAt) / 1000) +
          pendingSummaryOf(stack) +
          commandsFor(stack.info),
  );
  if (stack.pending().length > 0) void announceComplete(stack, progress);
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const crash = await Promise.race([stack.crashed, stopped]);
  const stoppingAt = Date.now();
  await stack.stop();
  progress.line(
    `everything has stopped (${((Date.now() - stoppingAt) / 1000).toFixed(1)} s); npm start goes on with the state in ${values.dir}`,
  );
  return crash === undefined ? 0 : 1;
}

// A closed terminal must not interrupt the stop.
process.stdout.on("error", () => {});
try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
