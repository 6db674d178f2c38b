import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../../shared/program/errors.ts";
import { lastSeconds } from "../../checks/test-report/kept.ts";
import { endProcessesOnInterrupt } from "../../platform/programs/interrupt.ts";
import { readOptions } from "../../platform/programs/options.ts";
import { createProgress, formatElapsed } from "../../platform/stack/progress.ts";
import { startStack } from "../../platform/stack/stack.ts";
import type { StackInfo } from "../../platform/stack/stack-info.ts";
import { type Client, runCommand } from "./client.ts";
import { go } from "./go.ts";
import { heyApi } from "./hey-api.ts";
import { java } from "./java.ts";
import { oapiCodegen } from "./oapi-codegen.ts";
import { openapiPythonClient } from "./openapi-python-client.ts";
import { openapiTypescript } from "./openapi-typescript.ts";
import { python } from "./python.ts";
import { recordDeliveries } from "./webhook-deliveries.ts";
import { goWebhooks, pythonWebhooks } from "./webhook-verifiers.ts";

const DIR = join(import.meta.dirname, "..", "..", "..", ".marina", "clients");
const CLIENTS: readonly Client[] = [
  go,
  oapiCodegen,
  java,
  python,
  openapiPythonClient,
  openapiTypescript,
  heyApi,
  goWebhooks,
  pythonWebhooks,
];

const OPTIONS = {
  /** A client by its name, also several times; without it, all. */
  client: { type: "string", multiple: true },
} as const;

/**
 * `npm run test:clients [-- --client go]`: clients generated from the OpenAPI document compile, and a tenant's story by
 * each of them succeeds against a stack; public libraries verify its webhooks. Needs Go, a JDK, Maven and Python.
 * Exits with 1 when one fails.
 */
async function main(): Promise<number> {
  const { values } = readOptions({ options: OPTIONS });
  const selected = CLIENTS.filter(({ name }) => values.client?.includes(name) ?? true);
  if (selected.length === 0) throw new Error(`no client ${values.client?.join(", ")}`);
  const startedAt = performance.now();
  const command = ["clients", ...process.argv.slice(2)].join(" ");
  const progress = createProgress(process.stderr);
  const last = lastSeconds.read()[command];
  if (last !== undefined) progress.line(`last time this took ${formatElapsed(last * 1000)}`);
  mkdirSync(DIR, { recursive: true });
  const stack = await startStack({ dir: DIR, fresh: true, provider: "local", onCrash: "report", progress });
  const failed: string[] = [];
  try {
    for (const client of selected) {
      try {
        await progress.during(
          `${client.name}: generating, compiling, and its story`,
          runStory(client, stack.info),
        );
        progress.line(`${client.name}: compiled, and its story succeeded`);
      } catch (error) {
        failed.push(client.name);
        progress.line(`${client.name}: ${messageOf(error)}`);
      }
    }
  } finally {
    await stack.stop();
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  if (failed.length === 0) lastSeconds.add({ [command]: seconds });
  const next =
    failed.length === 0
      ? "Next: docs/tenants/clients.md says how to generate one."
      : `Next: npm run test:clients -- ${failed.map((name) => `--client ${name}`).join(" ")}`;
  console.log(
    `${selected.length - failed.length} passed, ${failed.length} failed in ${formatElapsed(seconds * 1000)}. The clients are in ${DIR}. ${next}`,
  );
  return failed.length === 0 ? 0 : 1;
}

async function runStory(client: Client, stack: StackInfo): Promise<void> {
  const folder = join(DIR, client.name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { command, args, env = {} } = await client.prepare(folder);
  const deliveries = join(folder, "deliveries.json");
  await recordDeliveries(stack, deliveries);
  const variables = {
    MARINA_URL: stack.apiUrl,
    MARINA_TOKEN: stack.tokens.alice,
    MARINA_WEBHOOK_DELIVERIES: deliveries,
  };
  await runCommand(command, args, { env: { ...env, ...variables } });
}

endProcessesOnInterrupt();
process.exitCode = await main();
