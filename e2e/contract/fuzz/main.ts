import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastSeconds } from "../../checks/test-report/kept.ts";
import { endProcessesOnInterrupt } from "../../platform/programs/interrupt.ts";
import { readOptions } from "../../platform/programs/options.ts";
import { createProgress, formatElapsed, reportWhile } from "../../platform/stack/progress.ts";
import { ensurePythonPackages } from "../../platform/stack/python.ts";
import { type Stack, startStack } from "../../platform/stack/stack.ts";
import type { StackInfo } from "../../platform/stack/stack-info.ts";
import { document, places, withoutRepeatedTypes } from "../openapi/document.ts";
import { type Seeds, seedTenant } from "./seeds.ts";

const VERSION = "4.32.5";
const DIR = join(import.meta.dirname, "..", "..", "..", ".marina", "fuzz");

const OPTIONS = {
  /** Cases of each operation and kind of data. */
  cases: { type: "string", default: "500" },
  /** Runs with an equal seed send equal requests, as long as the document and the cases are unchanged. */
  seed: { type: "string", default: "1" },
  /** Some of coverage, fuzzing and stateful, by comma. */
  phases: { type: "string", default: "coverage,fuzzing,stateful" },
  /** `2/4`: the second quarter of the operations, for a run in parts. */
  shard: { type: "string", default: "1/1" },
  /** A pattern of operation ids. */
  include: { type: "string", default: "" },
  /** The stack.json of a running stack; without it, one is started. */
  stack: { type: "string" },
  /** Where to write the counts of passed and failed operations, as Vitest's JSON names them. */
  result: { type: "string" },
} as const;

/**
 * `npm run test:fuzz [-- --cases 500]`: Schemathesis over the whole OpenAPI document, all checks and all phases. Exits
 * with 1 when anything was found.
 */
async function main(): Promise<number> {
  const { values } = readOptions({ options: OPTIONS });
  const startedAt = performance.now();
  const command = ["fuzz", ...process.argv.slice(2)].join(" ");
  const last = lastSeconds.read()[command];
  const expected = last === undefined ? "" : `; all took ${formatElapsed(last * 1000)} last time`;
  mkdirSync(DIR, { recursive: true });
  const progress = createProgress(process.stderr);
  const schemathesis = await reportWhile(progress, () => "installing Schemathesis", ensureSchemathesis());
  let stack: Stack | undefined;
  try {
    if (values.stack === undefined) {
      stack = await startStack({
        dir: DIR,
        fresh: true,
        provider: "in-memory",
        onCrash: "report",
        progress,
      });
    }
    const info: StackInfo = stack?.info ?? JSON.parse(readFileSync(values.stack ?? "", "utf8"));
    const seeds = await seedTenant(info);
    // Without the operator, clusters are only accepted; provisioning hundreds of them would be a load test.
    await stack?.part("operator").kill("SIGTERM");
    const configFile = join(DIR, "schemathesis.toml");
    writeFileSync(configFile, renderConfig(seeds, info.tokens.staff));
    const report = join(DIR, "report.json");
    rmSync(report, { force: true });
    const generation = ["--phases", values.phases, "--max-examples", values.cases, "--seed", values.seed];
    const reporting = ["--request-timeout", "20", "--report", "json", "--report-json-path", report];
    const fuzzing = run(schemathesis, [
      "--config-file",
      configFile,
      "run",
      writeLenientDocument(),
      "--url",
      info.apiUrl,
      "-H",
      `Authorization: Bearer ${info.tokens.alice}`,
      // The live feed then responds with its history: a stream has no end to wait for.
      "-H",
      "Accept: application/json",
      "--checks",
      "all",
      ...generation,
      ...reporting,
      ...selectOperations(values).flatMap((id) => ["--include-operation-id", id]),
    ]);
    const code = await reportWhile(progress, () => `Schemathesis sends requests${expected}`, fuzzing);
    const counts = countOperations(report);
    const resultFile = values.result ?? process.env.MARINA_TEST_RESULT;
    if (resultFile !== undefined) writeFileSync(resultFile, JSON.stringify(counts));
    const isGreen = counts.success && code === 0;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    if (isGreen) lastSeconds.add({ [command]: seconds });
    console.log(describeEnd(isGreen, counts, seconds));
    return isGreen ? 0 : code || 1;
  } finally {
    await stack?.stop();
  }
}

/** The last line: where everything is, and what to do next. */
function describeEnd(isGreen: boolean, counts: ReturnType<typeof countOperations>, seconds: number): string {
  const found = `${counts.numPassedTests} operations passed, ${counts.numFailedTests} failed in ${formatElapsed(seconds * 1000)}. The report is in ${DIR}.`;
  return isGreen
    ? `${found} Next: another --seed sends other requests.`
    : `${found} Next: each failure above has a request to repeat; --include <operation id> runs one operation alone.`;
}

/** A value of another type in a field that is only sent back is no fault of the request. */
function writeLenientDocument(): string {
  const file = join(DIR, "openapi.json");
  writeFileSync(file, JSON.stringify(document, withoutRepeatedTypes));
  return file;
}

/** The operations of a shard; an operation stays in its shard as long as the document is unchanged. */
function selectOperations({ shard, include }: { shard: string; include: string }): string[] {
  const [index = 1, count = 1] = shard.split("/").map(Number);
  const ids = places.map(({ operation }) => operation.operationId).filter((id) => id.match(include) !== null);
  return ids.toSorted().filter((_, position) => position % count === index - 1);
}

/** Passed and failed operations of a report; an incomplete run has failed. */
function countOperations(report: string) {
  const { complete, operations, failures, errors }: Report = JSON.parse(readFileSync(report, "utf8"));
  const failed = new Set(failures.flatMap((failure) => failure.operations)).size + errors.length;
  return {
    success: complete && failed === 0,
    numPassedTests: Math.max(0, operations.tested - failed),
    numFailedTests: failed,
  };
}

/** The part of Schemathesis' report that is read here. */
interface Report {
  complete: boolean;
  operations: { tested: number };
  failures: { operations: string[] }[];
  errors: unknown[];
}

/** Installs Schemathesis in a separate virtual environment. Returns the path of its command. */
async function ensureSchemathesis(): Promise<string> {
  const programs = await ensurePythonPackages(`schemathesis-${VERSION}`, [`schemathesis==${VERSION}`]);
  return join(programs, "schemathesis");
}

/**
 * Fixed ids where a random one would always be 404, a selector, a key of a label and conditions, whose grammar is in no schema. Nor
 * are rules between fields: a body that only they refuse is 422.
 */
function renderConfig(seeds: Seeds, staffToken: string): string {
  return `continue-on-failure = true

[parameters]
"path.orgID" = "${seeds.orgId}"
"query.labels" = "team=web"
"query.group_by" = "label:team"
"header.If-Match" = "*"
"header.If-None-Match" = '"none"'

[[operations]]
include-operation-id = "deleteOrganization"
parameters = { "path.orgID" = "${seeds.spareOrgId}" }

[[operations]]
include-operation-id = "rotateApiToken"
parameters = { "path.tokenID" = "${seeds.spareTokenId}" }

[[operations]]
include-method = ["GET", "PUT", "POST"]
exclude-operation-id = "rotateApiToken"

[operations.parameters]
"path.clusterID" = "${seeds.clusterId}"
"path.poolID" = "${seeds.poolId}"
"path.memberID" = "${seeds.memberId}"
"path.tokenID" = "${seeds.tokenId}"

[[operations]]
include-path-regex = "^/api/v1/admin/"
headers = { Authorization = "Bearer ${staffToken}" }

[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 401, 403, 404, 409, 412, 422, 429, 503]
`;
}

async function run(command: string, args: string[]): Promise<number> {
  const child = spawn(command, args, { stdio: "inherit", cwd: DIR });
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

endProcessesOnInterrupt();
process.exitCode = await main();
