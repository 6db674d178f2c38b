import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { toCompactYaml } from "../../../shared/crd/compact.ts";
import type { Manifest } from "../../platform/stack/kube-api.ts";
import { PLATFORM_NAMESPACE } from "../../platform/stack/marina.ts";
import { ACCESS_CONTROL_FILE } from "../../platform/stack/program-identities.ts";
import { ensureTools } from "../../platform/stack/tools.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "charts", "marina");
const GROUPS = ["rbac.authorization.k8s.io", "admissionregistration.k8s.io"];
const CHART_LABEL = /^(helm\.sh|app\.kubernetes\.io)\//;
const HEAD = "# The roles and admission policies of charts/marina. Written by `npm run generate`.\n";

/** Who may do what, as the chart says it in the platform namespace of the stack. */
async function renderAccessControl(): Promise<string> {
  const tools = await ensureTools(["helm"], new AbortController().signal);
  const issuer = ["oidc.issuers[0].issuer=https://local", "oidc.issuers[0].audience=none"];
  const set = ["host=local", "image.repository=local", "database.existingSecret=none", ...issuer].flatMap(
    (value) => ["--set", value],
  );
  const args = ["template", "marina", CHART, "--namespace", PLATFORM_NAMESPACE, ...set];
  const { stdout } = await promisify(execFile)(tools.path("helm"), args, { maxBuffer: 16 * 1024 * 1024 });
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
  const control = objects.filter(({ apiVersion }) => GROUPS.includes(apiVersion.split("/")[0] ?? ""));
  return HEAD + control.map(dropChartLabels).map(toCompactYaml).join("---\n");
}

/** Nothing selects a role or a policy by what Helm says of the release; roles are aggregated by other labels. */
function dropChartLabels({ metadata, ...object }: Manifest): Manifest {
  const labels = Object.entries(metadata.labels ?? {}).filter(([name]) => !CHART_LABEL.test(name));
  const { labels: _, ...rest } = metadata;
  const kept = labels.length === 0 ? rest : { ...rest, labels: Object.fromEntries(labels) };
  const { apiVersion, kind, ...content } = object;
  return { apiVersion, kind, metadata: kept, ...content };
}

async function main(): Promise<void> {
  const control = await renderAccessControl();
  if (!process.argv.includes("--check")) return writeFile(ACCESS_CONTROL_FILE, control);
  if (control === (await readFile(ACCESS_CONTROL_FILE, "utf8").catch(() => ""))) return;
  process.stderr.write("Stale: e2e/platform/stack/access-control.yaml. Run `npm run generate`.\n");
  process.exitCode = 1;
}

await main();
