import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { toCompactYaml } from "../../../shared/crd/compact.ts";
import type { Manifest } from "../../platform/stack/kube-api.ts";
import { PLATFORM_NAMESPACE } from "../../platform/stack/marina.ts";
import { ROLES_FILE, readAdmissionPolicies } from "../../platform/stack/program-identities.ts";
import { ensureTools } from "../../platform/stack/tools.ts";

const CHART = join(import.meta.dirname, "..", "..", "..", "charts", "marina");
const CHART_LABEL = /^(helm\.sh|app\.kubernetes\.io)\//;
const HEAD = "# The roles of charts/marina. Written by `npm run generate`.\n";

/** The objects of the chart in the platform namespace of the stack. */
async function renderChart(): Promise<Manifest[]> {
  const tools = await ensureTools(["helm"], new AbortController().signal);
  const issuer = ["oidc.issuers[0].issuer=https://local", "oidc.issuers[0].audience=none"];
  const set = ["host=local", "image.repository=local", "database.existingSecret=none", ...issuer].flatMap(
    (value) => ["--set", value],
  );
  const args = ["template", "marina", CHART, "--namespace", PLATFORM_NAMESPACE, ...set];
  const { stdout } = await promisify(execFile)(tools.path("helm"), args, { maxBuffer: 16 * 1024 * 1024 });
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
  return objects.map(dropChartLabels);
}

/** Nothing selects a role or a policy by what Helm says of the release; roles are aggregated by other labels. */
function dropChartLabels({ metadata, ...object }: Manifest): Manifest {
  const labels = Object.entries(metadata.labels ?? {}).filter(([name]) => !CHART_LABEL.test(name));
  const { labels: _, ...rest } = metadata;
  const kept = labels.length === 0 ? rest : { ...rest, labels: Object.fromEntries(labels) };
  const { apiVersion, kind, ...content } = object;
  return { apiVersion, kind, metadata: kept, ...content };
}

const byName = (objects: readonly Manifest[]) =>
  new Map(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));

/** The admission policies that are not the same in both, by kind and name. */
function comparePolicies(rendered: readonly Manifest[], read: readonly Manifest[]): string[] {
  const [ofChart, ofStack] = [byName(rendered), byName(read)];
  const names = new Set([...ofChart.keys(), ...ofStack.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(ofChart.get(name), ofStack.get(name)));
}

function fail(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const groups = Map.groupBy(await renderChart(), ({ apiVersion }) => apiVersion.split("/")[0]);
  const policies = groups.get("admissionregistration.k8s.io") ?? [];
  const different = comparePolicies(policies, readAdmissionPolicies());
  if (different.length > 0)
    fail(`The chart renders other admission policies than the stack reads: ${different.join(", ")}.`);
  const roles = groups.get("rbac.authorization.k8s.io") ?? [];
  const text = HEAD + roles.map(toCompactYaml).join("---\n");
  if (!process.argv.includes("--check")) await writeFile(ROLES_FILE, text);
  else if (text !== (await readFile(ROLES_FILE, "utf8").catch(() => "")))
    fail("Stale: e2e/platform/stack/access-control.yaml. Run `npm run generate`.");
}

await main();
