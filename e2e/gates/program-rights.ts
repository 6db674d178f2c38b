import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments, stringify } from "yaml";
import type { Manifest } from "../stack/kube-api.ts";
import { PLATFORM_NAMESPACE } from "../stack/marina.ts";
import { PROGRAM_RIGHTS_FILE } from "../stack/program-identities.ts";
import { ensureTools } from "../stack/tools.ts";

const CHART = join(import.meta.dirname, "..", "..", "charts", "marina");
const HEAD = "# The rights that charts/marina gives to the programs. Written by `npm run generate`.\n";

/** The rights of the programs' ServiceAccounts as the chart gives them in the platform namespace of the stack. */
async function renderProgramRights(): Promise<string> {
  const tools = await ensureTools(["helm"], new AbortController().signal);
  const values = ["host=local", "database.existingSecret=none", "oidc.issuers[0].issuer=https://local"];
  const set = [...values, "oidc.issuers[0].audience=none"].flatMap((value) => ["--set", value]);
  const args = ["template", "marina", CHART, "--namespace", PLATFORM_NAMESPACE, ...set];
  const { stdout } = await promisify(execFile)(tools.path("helm"), args, { maxBuffer: 16 * 1024 * 1024 });
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
  const rights = objects.filter(({ apiVersion }) => apiVersion.startsWith("rbac.authorization.k8s.io/"));
  return HEAD + rights.map((one) => stringify(one)).join("---\n");
}

async function main(): Promise<void> {
  const rights = await renderProgramRights();
  if (!process.argv.includes("--check")) return writeFile(PROGRAM_RIGHTS_FILE, rights);
  if (rights === (await readFile(PROGRAM_RIGHTS_FILE, "utf8").catch(() => ""))) return;
  process.stderr.write("Stale: e2e/stack/program-rights.yaml. Run `npm run generate`.\n");
  process.exitCode = 1;
}

await main();
