import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse, stringify } from "yaml";
import { readCapiManifests } from "../platform/stack/cluster-api-manifests.ts";
import { fetchPinnedModule } from "../platform/stack/go-module.ts";
import type { Manifest } from "../platform/stack/kube-api.ts";
import type { StackInfo } from "../platform/stack/stack-info.ts";
import { kubectl, readStack, waitFor } from "../platform/stack/testing.ts";

/** The kinds of a provider that cluster classes use. */
const USED =
  /^(dev|kubevirt|openstack|vsphere|proxmox|aws|gcp)(cluster|machine)(template)?s\.infrastructure\./;

/**
 * Where the definitions of an infrastructure provider are: with Cluster API, or in the folder of a kustomization in a
 * Go module that e2e/platform/stack/tools/pinned/go.mod names.
 */
export type ProviderDefinitions = "cluster-api" | { module: string; folder: string };

/** A server-side apply refuses a schema that lists a rule twice, as that of Proxmox does. */
function withoutRepeatedRules(definition: Manifest): Manifest {
  return JSON.parse(
    JSON.stringify(definition, (key, value) =>
      key === "x-kubernetes-validations"
        ? [...new Map(value.map((one: { rule: string }) => [one.rule, one])).values()]
        : value,
    ),
  );
}

/** The labels that a kustomization adds: `commonLabels`, and the `pairs` of `labels`, which replaces it. */
function readLabels({ commonLabels, labels = [] }: Kustomization): Record<string, string> {
  return Object.assign({}, commonLabels, ...labels.map(({ pairs }) => pairs));
}

async function readDefinitions(module: string, folder: string): Promise<Manifest[]> {
  const source = join(await fetchPinnedModule(module), folder);
  const contract = readLabels(parse(readFileSync(join(source, "kustomization.yaml"), "utf8")));
  const files = readdirSync(join(source, "bases")).filter((name) => name.endsWith(".yaml"));
  return files.map((name) => {
    const { metadata, ...rest }: Manifest = parse(readFileSync(join(source, "bases", name), "utf8"));
    const labels = { ...metadata.labels, ...contract };
    return withoutRepeatedRules({ ...rest, metadata: { ...metadata, labels } });
  });
}

/** The definitions of other operators that the chart marina has objects for: module, folder, and files of it. */
const FOREIGN = [
  ["sigs.k8s.io/gateway-api", "config/crd/standard", ["gateway.networking.k8s.io_httproutes"]],
  [
    "github.com/prometheus-operator/prometheus-operator",
    "example/prometheus-operator-crd",
    ["monitoring.coreos.com_servicemonitors", "monitoring.coreos.com_prometheusrules"],
  ],
  [
    "github.com/cloudnative-pg/cloudnative-pg",
    "config/crd/bases",
    ["postgresql.cnpg.io_clusters", "postgresql.cnpg.io_databases"],
  ],
] as const;

/**
 * Installs the definitions of the Gateway API, the Prometheus operator and CloudNativePG that the chart marina uses.
 */
export async function installForeignDefinitions(stack: StackInfo = readStack()): Promise<void> {
  const read = FOREIGN.map(async ([module, folder, files]) => {
    const source = await fetchPinnedModule(module);
    return files.map((file): Manifest => parse(readFileSync(join(source, folder, `${file}.yaml`), "utf8")));
  });
  await installAll((await Promise.all(read)).flat(), stack);
}

/**
 * Installs the kinds of kubeadm and those of a provider that cluster classes use, with the contract labels of the
 * provider's own kustomization, and waits until they are served. No program of the provider runs.
 */
export async function installDefinitions(provider: ProviderDefinitions): Promise<void> {
  const manifests = readCapiManifests(join(dirname(readStack().helm), "cluster-api.json"));
  const kubeadm = [
    ...manifests["capi-kubeadm-bootstrap"].crds,
    ...manifests["capi-kubeadm-control-plane"].crds,
  ];
  const infrastructure =
    provider === "cluster-api"
      ? manifests["capi-in-memory"].crds
      : await readDefinitions(provider.module, provider.folder);
  const used = [...kubeadm, ...infrastructure.filter(({ metadata }) => USED.test(metadata.name))];
  await installAll(used, readStack());
}

/** What this process has installed: the kubeconfig and the name of each definition. */
const installed = new Set<string>();

/** The providers of the chart marina-classes. */
const PROVIDERS: readonly ProviderDefinitions[] = [
  "cluster-api",
  ...["kubevirt", "openstack", "aws/v2", "gcp"].map((name) => ({
    module: `sigs.k8s.io/cluster-api-provider-${name}`,
    folder: "config/crd",
  })),
  { module: "sigs.k8s.io/cluster-api-provider-vsphere", folder: "config/default/crd" },
  { module: "github.com/ionos-cloud/cluster-api-provider-proxmox", folder: "config/crd" },
];

/** Installs what `installDefinitions` does, of every provider of the chart marina-classes. */
export async function installProviderDefinitions(): Promise<void> {
  for (const provider of PROVIDERS) await installDefinitions(provider);
}

/** Applies definitions and waits until they are served, and their schemas published, which comes later; each once. */
async function installAll(wanted: readonly Manifest[], stack: StackInfo): Promise<void> {
  const toPlace = ({ metadata }: Manifest) => `${stack.kubeconfig} ${metadata.name}`;
  const definitions = wanted.filter((one) => !installed.has(toPlace(one)));
  if (definitions.length === 0) return;
  const text = definitions.map((one) => stringify(one, { aliasDuplicateObjects: false })).join("---\n");
  await kubectl(["apply", "--server-side", "--filename", "-"], { stdin: text, stack });
  const names = definitions.map(({ metadata }) => `crd/${metadata.name}`);
  await kubectl(["wait", "--for=condition=Established", "--timeout=400s", ...names], { stack });
  const kinds = definitions.flatMap(({ spec }) => {
    const { group, names, versions } = spec as DefinitionSpec;
    const served = versions.filter((version) => version.served);
    return served.map(({ name }) => ({ path: `${group}/${name}`, kind: names.kind }));
  });
  for (const [path, ofPath] of Map.groupBy(kinds, (one) => one.path))
    await waitFor(`the schemas of ${path}`, async () => {
      const { stdout } = await kubectl(["get", "--raw", `/openapi/v3/apis/${path}`], { stack });
      return ofPath.every(({ kind }) => stdout.includes(`"kind":"${kind}"`));
    });
  for (const one of definitions) installed.add(toPlace(one));
}

interface Kustomization {
  commonLabels?: Record<string, string>;
  labels?: { pairs: Record<string, string> }[];
}

interface DefinitionSpec {
  group: string;
  names: { kind: string };
  versions: { name: string; served: boolean }[];
}
