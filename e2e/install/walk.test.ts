import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { messageOf } from "../../shared/program/errors.ts";
import { ROOT } from "../platform/stack/marina.ts";
import { createProgress } from "../platform/stack/progress.ts";
import { ensureSecrets, type Secrets } from "../platform/stack/secrets.ts";
import { type Stack, startStack } from "../platform/stack/stack.ts";
import { kubectl, waitFor } from "../platform/stack/testing.ts";
import { readCommands, runCommands } from "../testing/documented-commands.ts";
import { VERSION, writeImage } from "./images.ts";
import { findApiUrl } from "./release.ts";

const DIR = join(ROOT, ".marina", "install-walk");
const PAGE = join(ROOT, "docs", "operators", "install.md");
/** The stack has its class in the Namespace of the page. */
const NAMESPACE = "walked";
const FIRST_STATEMENT = "CREATE ROLE marina_owner LOGIN PASSWORD '…';";
const progress = createProgress(process.stderr);
const folder = mkdtempSync(join(tmpdir(), "marina-walk-"));
let stack: Stack;
let secrets: Secrets;
let apiUrl = "";

beforeAll(async () => {
  stack = await startStack({
    dir: DIR,
    provider: "local",
    fresh: true,
    parts: "prepared",
    onCrash: "report",
    progress,
  });
  secrets = await ensureSecrets(DIR);
  await writeImage(DIR);
  symlinkSync(join(ROOT, "charts"), join(folder, "charts"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stack?.stop();
});

/** What a reader puts in place of the page's examples; each stands in the page. */
function fillIn(text: string, ...names: string[]): string {
  const { host } = new URL(stack.info.databaseUrl);
  const values: Record<string, string> = {
    "marina-system": NAMESPACE,
    "marina_apiserver:…@postgres.example.com/marina?sslmode=verify-full": `marina_apiserver:${secrets.apiserverPassword}@${host}/marina`,
    "marina_owner:…@postgres.example.com/marina?sslmode=verify-full": `marina_owner:${secrets.ownerPassword}@${host}/marina`,
    "marina_owner LOGIN PASSWORD '…'": `marina_owner LOGIN PASSWORD '${secrets.ownerPassword}'`,
    "marina_apiserver LOGIN PASSWORD '…'": `marina_apiserver LOGIN PASSWORD '${secrets.apiserverPassword}'`,
    "registry.example.com/marina, tag: 0.1.0": `marina/marina, tag: ${VERSION}`,
    // The identity provider of the stack answers over http, and its users have verified addresses without a claim that says so.
    "issuer: https://id.example.com, audience: marina": `issuer: "${stack.info.issuer}", audience: marina, trustEmail: true`,
    "192.0.2.10/32": "127.0.0.1/32",
    "https://api.example.com": apiUrl,
  };
  return names.reduce((filled, name) => {
    expect(filled).toContain(name);
    return filled.replaceAll(name, values[name] ?? "");
  }, text);
}

/** The block of the page that begins with this line. */
function readBlock(firstLine: string): string {
  const [, block = ""] = readFileSync(PAGE, "utf8").split(`\n${firstLine}\n`);
  return block.split("\n```", 1)[0] ?? "";
}

/** What is on a cluster before the page begins, and a database server without a database: a class and nothing of Marina. */
async function prepare(): Promise<void> {
  await kubectl(["create", "namespace", "classes"], { stack: stack.info });
  const file = join(ROOT, "e2e", "platform", "local-provider", "cluster-class.yaml");
  const stdin = readFileSync(file, "utf8")
    .replaceAll("namespace: marina-system", "namespace: classes")
    .replaceAll(/name: marina-local-v\d+/g, "name: production");
  await kubectl(["apply", "-f", "-"], { stdin, stack: stack.info });
}

/** Runs the statements of the page on a server that has none of the roles, one after another: CREATE DATABASE stands alone. */
async function createDatabase(statements: string): Promise<void> {
  const url = Object.assign(new URL(stack.info.databaseUrl), {
    username: "postgres",
    password: secrets.postgresPassword,
    pathname: "/postgres",
  }).href;
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const clean = ["DROP DATABASE marina WITH (FORCE)", "DROP ROLE marina_owner", "DROP ROLE marina_apiserver"];
  for (const statement of [...clean, ...statements.split(";\n")])
    if (statement.trim() !== "") await sql.unsafe(statement);
  await sql.end();
}

test("the commands of docs/operators/install.md lead from a cluster with Cluster API to a Deployment of a tenant", async ({
  signal,
}) => {
  await prepare();
  const blocks = readCommands(PAGE, "e2e/install/walk.test.ts");
  expect(blocks).toHaveLength(4);
  const [database = "", install = "", create = "", use = ""] = blocks;
  const shell = {
    cwd: folder,
    env: {
      PATH: [dirname(stack.info.helm), dirname(stack.info.kubectl), process.env.PATH].join(":"),
      HOME: folder,
      KUBECONFIG: stack.info.kubeconfig,
      TOKEN: stack.info.tokens.alice,
    },
    timeoutMs: 800_000,
    signal,
  };
  const follow = async (title: string, ...commands: string[]): Promise<string> => {
    const running = runCommands(commands, shell).catch((error) => {
      // What a command has written in place of a kubeconfig says why the next one fails.
      const file = join(folder, "one.yaml");
      throw existsSync(file) ? new Error(`${messageOf(error)}\n${readFileSync(file, "utf8")}`) : error;
    });
    await progress.during(title, running);
    return running;
  };

  await createDatabase(
    fillIn(
      `${FIRST_STATEMENT}\n${readBlock(FIRST_STATEMENT)}\n`,
      "marina_owner LOGIN PASSWORD '…'",
      "marina_apiserver LOGIN PASSWORD '…'",
    ),
  );
  const addresses = fillIn(
    database,
    "marina-system",
    "marina_apiserver:…@postgres.example.com/marina?sslmode=verify-full",
    "marina_owner:…@postgres.example.com/marina?sslmode=verify-full",
  );
  await follow("the Secret of the database", addresses);
  const values = fillIn(
    readBlock("# values.yaml"),
    "registry.example.com/marina, tag: 0.1.0",
    "issuer: https://id.example.com, audience: marina",
    "192.0.2.10/32",
  );
  writeFileSync(join(folder, "values.yaml"), values);
  await follow("helm install and helm test", fillIn(install, "marina-system"));
  apiUrl = await findApiUrl(stack.info, NAMESPACE);
  await waitFor("the API to be reached", async () => (await fetch(`${apiUrl}/docs`)).ok);
  const output = await follow(
    "a cluster, and a Deployment in it",
    fillIn(create, "https://api.example.com"),
    use,
  );

  expect(output).toMatch(/^cluster\.cloud\.marina\.dev\/\S+ +True +Available/m);
  expect(output).toContain("deployment.apps/hello created");
  expect(output).toContain('deployment "hello" successfully rolled out');
});
